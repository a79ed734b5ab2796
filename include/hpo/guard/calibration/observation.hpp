// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "hpo/core/memory_leak.hpp"
#include "hpo/core/runs_on.hpp"
#include "hpo/core/trial.hpp"
#include "hpo/failure/cause.hpp"
#include "hpo/guard/calibration/model_family.hpp"
#include "hpo/guard/predicted_estimate.hpp"

namespace hpo::guard {

/// The group of an attempt. Predictions in one family are wrong in the same way, predictions in one pool in similar ways.
struct ResidualGroup {
    std::string pool;    ///< the source and the device: "dry_run NVIDIA H100 80GB HBM3"; "dry_run cuda" if the name is unknown
    std::string family;  ///< model_family
};

[[nodiscard]] ResidualGroup residual_group(const std::string& source, const RunsOn& runs_on, const ParamSet& params,
                                           const ExecutionPlan& plan);

/// The comparable_error of an attempt's prediction, or a lower bound of it. For most sources it is log(true need / predicted need).
struct Residual {
    ResidualGroup group;
    double log_ratio = 0;
    bool censored = false;  ///< `log_ratio` is a lower bound (right-censored)
};

/// What an attempt needed of the allocator, in bytes. Its process may hold memory beyond the attempt: `least` leaves this out, `most`
/// includes it.
struct MeasuredNeed {
    std::int64_t least = 0;
    std::int64_t most = 0;
};

/// The measured need of an attempt. Returns nullopt if no peak was measured.
[[nodiscard]] std::optional<MeasuredNeed> measured_need(const Attempt& attempt);

/// A lower bound of what an attempt that ran out of memory needs of its device. It comes from the memory that the attempt held and
/// requested, and from the memory that was not enough. What its process held beyond the attempt is subtracted. Returns nullopt if the
/// failure says nothing about the configuration.
[[nodiscard]] std::optional<std::int64_t> least_need(const Attempt& attempt);

/// The residual of one attempt. `params` are needed only if the attempt has no recorded family. An attempt that completed or was pruned is
/// an observation. An attempt that ran out of memory because of its own configuration is a censored one. Returns nullopt if there was no
/// prediction, or if the need is unknown.
///
/// The error is a comparable_error.
///
/// The residual is 0 if the measured need (`measured_need`) can be what was predicted, from need to comfort. Else it is the smallest error
/// that agrees with the measurement. So memory that is held beyond the attempt never makes a prediction wrong.
[[nodiscard]] std::optional<Residual> residual_of(const ParamSet& params, const Attempt& attempt);
[[nodiscard]] inline std::optional<Residual> residual_of(const Trial& trial, const Attempt& attempt) {
    return residual_of(params_of(trial, attempt), attempt);
}

inline ResidualGroup residual_group(const std::string& source, const RunsOn& runs_on, const ParamSet& params, const ExecutionPlan& plan) {
    const std::string device = runs_on.device_name.empty() ? plan.device.substr(0, plan.device.find(':')) : runs_on.device_name;
    return {source + " " + device, model_family(runs_on.trainer, params, plan)};
}

inline std::optional<MeasuredNeed> measured_need(const Attempt& attempt) {
    const auto peak = attempt.peak_reserved ? attempt.peak_reserved : attempt.peak_allocated;
    if (!peak) return std::nullopt;
    MeasuredNeed need{.least = std::max<std::int64_t>(0, *peak - held_beyond(attempt)), .most = *peak};
    // Seen from outside, now and then, a program's peak is a lower bound. Less than was predicted shows nothing.
    if (!attempt.peak_allocated && attempt.estimate && attempt.estimate->source == to_text(PeakSource::virtual_card))
        need.most = std::max(need.most, bare_need(*attempt.estimate));
    return need;
}

inline std::optional<std::int64_t> least_need(const Attempt& attempt) {
    const auto& failure = attempt.failure;
    if (!failure || failure->kind != FailureKind::out_of_memory) return std::nullopt;
    const OomCause cause = failure->cause.value_or(OomCause::unknown);
    if (!follows_from_configuration(cause)) return std::nullopt;
    const MemoryReading& memory = failure->memory;
    std::optional<std::int64_t> held;
    if (memory.allocated && failure->requested_bytes) held = *memory.allocated + *failure->requested_bytes;
    std::optional<std::int64_t> room;
    if (cause == OomCause::limit && memory.limit) room = memory.limit;
    else if (memory.reserved && memory.free) room = *memory.reserved + *memory.free;
    else if (!held) room = memory.capacity ? memory.capacity : attempt.capacity_bytes;
    if (!held && !room) return std::nullopt;
    return std::max<std::int64_t>(0, std::max(held.value_or(0), room.value_or(0)) - held_beyond(attempt));
}

inline std::optional<Residual> residual_of(const ParamSet& params, const Attempt& attempt) {
    if (!attempt.estimate || !attempt.estimate->need || !attempt.outcome) return std::nullopt;
    const Estimate& estimate = *attempt.estimate;
    const std::int64_t need = bare_need(estimate);
    const std::int64_t comfort = std::max(need, estimate.comfort.value_or(0) - (*estimate.need - need));
    if (need <= 0) return std::nullopt;

    const bool ended = !attempt.failure && (attempt.outcome == OutcomeKind::complete || attempt.outcome == OutcomeKind::stopped);
    std::optional<MeasuredNeed> took;
    if (ended) took = measured_need(attempt);
    else if (const auto least = least_need(attempt)) took = MeasuredNeed{.least = *least, .most = *least};
    if (!took || took->most <= 0) return std::nullopt;
    const std::int64_t context = bytes_of_part(estimate, context_part);  // predicted, but not part of the allocator's measured peak
    took->least += context;
    took->most += context;

    std::int64_t told = need;
    const std::int64_t needed = std::clamp(need, took->least, took->most);
    if (ended && needed > need) told = std::min(needed, comfort);
    ResidualGroup group = residual_group(estimate.source, {attempt.device_name, {}}, params, attempt.plan);
    if (!attempt.model_family.empty()) group.family = attempt.model_family;
    const double error = std::log(static_cast<double>(needed) / static_cast<double>(told));
    return Residual{std::move(group), comparable_error(estimate, error), !ended};
}

}  // namespace hpo::guard
