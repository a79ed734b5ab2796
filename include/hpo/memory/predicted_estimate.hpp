// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

#include "hpo/core/estimate.hpp"
#include "hpo/core/peak_prediction.hpp"

namespace hpo::memory {

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

}  // namespace hpo::memory

#ifndef HPO_COMPILED
#include "hpo/memory/impl/predicted_estimate_inl.hpp"
#endif
