// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "hpo/base/bytes.hpp"
#include "hpo/core/device_word.hpp"
#include "hpo/core/memory_leak.hpp"
#include "hpo/core/peak_prediction.hpp"
#include "hpo/core/trial.hpp"
#include "hpo/guard/calibration/observation.hpp"
#include "hpo/guard/predicted_estimate.hpp"

namespace hpo::tuner {

/// Says in words how far a predicted peak was from what the attempt took. Returns nullopt unless the difference is above a tenth and above
/// 1 MiB. Only attempts that completed or ran out of memory can tell the difference. For any other attempt it returns nullopt too.
///
/// The measurement is compared with the prediction for the allocator alone: without the guard's margin and without the device's context,
/// which lies outside of the allocator. Any measurement from need to comfort agrees with the prediction. The attempt may or may not have
/// used memory that its process held before or after it. The smaller difference counts.
[[nodiscard]] std::optional<std::string> prediction_miss(const Attempt& attempt);

inline std::optional<std::string> prediction_miss(const Attempt& attempt) {
    constexpr double tolerance = 0.1;
    // A GPU's memory is taken in segments of up to 20 MiB. Where one more or less was taken says nothing.
    const double too_small_to_tell = is_cpu(attempt.plan.device) ? 0x1p20 : 20 * 0x1p20;
    if (!attempt.estimate || !attempt.estimate->need) return std::nullopt;
    const Estimate& estimate = *attempt.estimate;
    if (std::find(peak_source_names.begin(), peak_source_names.end(), estimate.source) == peak_source_names.end()) return std::nullopt;
    const std::int64_t low = guard::bare_need(estimate) - guard::bytes_of_part(estimate, guard::context_part);
    const std::int64_t high = std::max(low, estimate.comfort.value_or(low) - (*estimate.need - low));
    const bool complete = attempt.outcome == OutcomeKind::complete;
    std::optional<guard::MeasuredNeed> need;
    if (complete) {
        need = guard::measured_need(attempt);
    } else if (const auto& failure = attempt.failure; failure && failure->kind == FailureKind::out_of_memory && failure->memory.allocated) {
        const std::int64_t asked = *failure->memory.allocated + failure->requested_bytes.value_or(0);
        need = {.least = asked - held_beyond(attempt), .most = asked};
    }
    if (!need) return std::nullopt;
    const bool above = need->least > high;
    if (!above && (!complete || need->most >= low)) return std::nullopt;
    const std::int64_t told = above ? high : low;
    const std::int64_t took = above ? need->least : need->most;
    const auto difference = static_cast<double>(took - told);
    if (std::fabs(difference) <= too_small_to_tell || std::fabs(difference) <= tolerance * static_cast<double>(told)) return std::nullopt;
    return "its " + estimate.source + " predicted " + format_bytes(told) + ", and it " + (complete ? "took " : "asked for ") +
           format_bytes(took);
}

}  // namespace hpo::tuner
