// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "hpo/base/inline.hpp"
#include "hpo/memory/predicted_estimate.hpp"

namespace hpo::memory {

HPO_INLINE std::int64_t bytes_of_part(const Estimate& estimate, std::string_view name) {
    std::int64_t bytes = 0;
    for (const EstimatePart& part : estimate.parts) bytes += part.name == name ? part.bytes : 0;
    return bytes;
}

namespace detail {

struct ErrorScale {
    double reach;  ///< from the median of what was learned to the bare need, as a logarithm
    double unit;   ///< factor of an error; an error within a wide uncertainty counts like one within a narrow one
};

[[nodiscard]] HPO_INLINE ErrorScale error_scale(const Estimate& estimate) {
    constexpr double usual = 0.25;  // from the median to the 0.99 quantile, if peaks differ by a tenth
    constexpr double least = 0.05;  // so that one bold estimate that is wrong does not widen all others
    const auto need = static_cast<double>(bare_need(estimate));
    const auto uncertainty = static_cast<double>(bytes_of_part(estimate, uncertainty_part));
    if (!(uncertainty > 0 && need > uncertainty)) return {.reach = 0, .unit = 1};
    const double reach = std::log(need / (need - uncertainty));
    return {.reach = reach, .unit = usual / std::max(least, reach)};
}

}  // namespace detail

HPO_INLINE double comparable_error(const Estimate& estimate, double log_ratio) {
    const auto scale = detail::error_scale(estimate);
    return (log_ratio + scale.reach) * scale.unit;
}

HPO_INLINE double log_ratio_of(const Estimate& estimate, double comparable_error) {
    const auto scale = detail::error_scale(estimate);
    return comparable_error / scale.unit - scale.reach;
}

HPO_INLINE Estimate bare_estimate(const PeakPrediction& prediction) {
    Estimate estimate;
    estimate.need = prediction.need;
    estimate.comfort = std::max(prediction.need, prediction.comfort);
    estimate.parts = prediction.parts;
    estimate.source = to_text(prediction.source);
    if (estimate.parts.empty()) return estimate;
    std::int64_t told = 0;
    for (const EstimatePart& part : estimate.parts) told += part.bytes;
    if (told != prediction.need) estimate.parts.push_back({"allocator", prediction.need - told});
    return estimate;
}

HPO_INLINE Estimate predicted_estimate(const PeakPrediction& prediction, double margin) {
    // Doubles are exact up to 2^53 bytes, and a product of absurd predictions does not wrap around.
    const double share = prediction.uncertainty + margin;
    const auto larger = [&](std::int64_t bytes) {
        const auto whole = static_cast<double>(bytes);
        return static_cast<std::int64_t>(std::min(whole + std::ceil(whole * share), 0x1.0p62));
    };
    Estimate estimate = bare_estimate(prediction);
    estimate.need = larger(prediction.need);
    estimate.comfort = std::max(*estimate.need, larger(prediction.comfort));
    estimate.confidence = prediction.uncertainty == 0 ? 0.98 : 0.9;
    if (!estimate.parts.empty() && *estimate.need != prediction.need) {
        estimate.parts.push_back({margin_part, *estimate.need - prediction.need});
    }
    return estimate;
}

}  // namespace hpo::memory
