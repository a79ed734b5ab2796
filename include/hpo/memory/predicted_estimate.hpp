// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "hpo/core/estimate.hpp"
#include "hpo/core/peak_prediction.hpp"

namespace hpo::memory {

/// The part of an estimate that stands for what its source may have missed.
inline constexpr const char* margin_part = "margin";
/// The part that a process takes of its device outside the allocator, a GPU's context: neither measured with it nor under its cap.
inline constexpr const char* context_part = "context";

[[nodiscard]] inline std::int64_t bytes_of_part(const Estimate& estimate, std::string_view name) {
    std::int64_t bytes = 0;
    for (const EstimatePart& part : estimate.parts) bytes += part.name == name ? part.bytes : 0;
    return bytes;
}

/// The estimate that a prediction gives as it stands; its parts, if any are known, add up to the need.
[[nodiscard]] inline Estimate bare_estimate(const PeakPrediction& prediction) {
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

/// The need that an estimate's source told, before the guard put its margin on it.
[[nodiscard]] inline std::int64_t bare_need(const Estimate& estimate) {
    return estimate.need.value_or(0) - bytes_of_part(estimate, margin_part);
}

/// The same made larger by the prediction's own uncertainty and by `margin`.
///
/// Its confidence is 0.98 where the source claims that the need is no higher (of 52 configurations one was more than 0.1 % too low), else
/// 0.9: an uncertainty bounds the error of nine configurations in ten.
[[nodiscard]] inline Estimate predicted_estimate(const PeakPrediction& prediction, double margin) {
    // In doubles, exact to 2^53 bytes: a product of absurd predictions must not wrap around.
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
