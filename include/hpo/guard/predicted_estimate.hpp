// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "hpo/core/estimate.hpp"
#include "hpo/core/peak_prediction.hpp"

namespace hpo::guard {

/// The name of the part that covers what an estimate's source may have missed.
inline constexpr const char* margin_part = "margin";
/// The name of the part for memory outside the allocator: a GPU's context. A measured peak does not include it, and a cap does not limit
/// it.
inline constexpr const char* context_part = "context";
/// Name of the part of a learned peak that is above its median, because the peak is not known better.
inline constexpr const char* uncertainty_part = "uncertainty";

[[nodiscard]] std::int64_t bytes_of_part(const Estimate& estimate, std::string_view name);

/// The estimate from a prediction, without a margin. Its parts, if they are known, add up to the need.
[[nodiscard]] Estimate bare_estimate(const PeakPrediction& prediction);

/// The need that an estimate's source predicted, without the guard's margin.
[[nodiscard]] inline std::int64_t bare_need(const Estimate& estimate) {
    return estimate.need.value_or(0) - bytes_of_part(estimate, margin_part);
}

/// True for the parts by which the error of an estimate is counted once its attempt has ended.
[[nodiscard]] inline bool tells_error(const EstimatePart& part) {
    return part.name == margin_part || part.name == context_part || part.name == uncertainty_part;
}

/// An estimate's error, so that errors of several estimates can be compared. `log_ratio` is the logarithm of what was needed over the bare
/// need. If the estimate has an uncertainty_part, the error is from its median, and in units of its uncertainty. Else it is `log_ratio`.
[[nodiscard]] double comparable_error(const Estimate& estimate, double log_ratio);

/// The inverse: the log_ratio of this estimate that has this comparable error.
[[nodiscard]] double log_ratio_of(const Estimate& estimate, double comparable_error);

/// The estimate from a prediction, increased by the prediction's own uncertainty and by `margin`.
///
/// If the source claims no uncertainty, the confidence is 0.98. Of 52 configurations, one was predicted more than 0.1 % too low. Else the
/// confidence is 0.9, because an uncertainty bounds the error of nine configurations in ten.
[[nodiscard]] Estimate predicted_estimate(const PeakPrediction& prediction, double margin);

inline std::int64_t bytes_of_part(const Estimate& estimate, std::string_view name) {
    std::int64_t bytes = 0;
    for (const EstimatePart& part : estimate.parts) bytes += part.name == name ? part.bytes : 0;
    return bytes;
}

namespace detail {

struct ErrorScale {
    double reach;  ///< from the median of what was learned to the bare need, as a logarithm
    double unit;   ///< factor of an error; an error within a wide uncertainty counts like one within a narrow one
};

[[nodiscard]] inline ErrorScale error_scale(const Estimate& estimate) {
    constexpr double usual = 0.25;  // from the median to the 0.99 quantile, if peaks differ by a tenth
    constexpr double least = 0.05;  // so that one bold estimate that is wrong does not widen all others
    const auto need = static_cast<double>(bare_need(estimate));
    const auto uncertainty = static_cast<double>(bytes_of_part(estimate, uncertainty_part));
    if (!(uncertainty > 0 && need > uncertainty)) return {.reach = 0, .unit = 1};
    const double reach = std::log(need / (need - uncertainty));
    return {.reach = reach, .unit = usual / std::max(least, reach)};
}

}  // namespace detail

inline double comparable_error(const Estimate& estimate, double log_ratio) {
    const auto scale = detail::error_scale(estimate);
    return (log_ratio + scale.reach) * scale.unit;
}

inline double log_ratio_of(const Estimate& estimate, double comparable_error) {
    const auto scale = detail::error_scale(estimate);
    return comparable_error / scale.unit - scale.reach;
}

inline Estimate bare_estimate(const PeakPrediction& prediction) {
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

inline Estimate predicted_estimate(const PeakPrediction& prediction, double margin) {
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

}  // namespace hpo::guard
