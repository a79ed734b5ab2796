// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

#include "hpo/core/estimate.hpp"
#include "hpo/core/peak_prediction.hpp"

namespace hpo::memory {

/// The part of an estimate that stands for what its source may have missed.
inline constexpr const char* margin_part = "margin";
/// The part that a process takes of its device outside the allocator, a GPU's context: neither measured with it nor under its cap.
inline constexpr const char* context_part = "context";

[[nodiscard]] std::int64_t bytes_of_part(const Estimate& estimate, std::string_view name);

/// The estimate that a prediction gives as it stands; its parts, if any are known, add up to the need.
[[nodiscard]] Estimate bare_estimate(const PeakPrediction& prediction);

/// The need that an estimate's source told, before the guard put its margin on it.
[[nodiscard]] inline std::int64_t bare_need(const Estimate& estimate) {
    return estimate.need.value_or(0) - bytes_of_part(estimate, margin_part);
}

/// The same made larger by the prediction's own uncertainty and by `margin`.
///
/// Its confidence is 0.98 where the source claims that the need is no higher (of 52 configurations one was more than 0.1 % too low), else
/// 0.9: an uncertainty bounds the error of nine configurations in ten.
[[nodiscard]] Estimate predicted_estimate(const PeakPrediction& prediction, double margin);

}  // namespace hpo::memory

#ifndef HPO_COMPILED
#include "hpo/memory/impl/predicted_estimate_inl.hpp"
#endif
