// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "hpo/base/inline.hpp"
#include "hpo/core/memory_leak.hpp"
#include "hpo/failure/cause.hpp"
#include "hpo/memory/calibration/model_family.hpp"
#include "hpo/memory/calibration/observation.hpp"
#include "hpo/memory/predicted_estimate.hpp"

namespace hpo::memory::inline calibration {

HPO_INLINE ResidualGroup residual_group(const std::string& source, const RunsOn& runs_on, const ParamSet& params,
                                        const ExecutionPlan& plan) {
    const std::string device = runs_on.device_name.empty() ? plan.device.substr(0, plan.device.find(':')) : runs_on.device_name;
    return {source + " " + device, model_family(runs_on.trainer, params, plan)};
}

HPO_INLINE std::optional<MeasuredNeed> measured_need(const Attempt& attempt) {
    const auto peak = attempt.peak_reserved ? attempt.peak_reserved : attempt.peak_allocated;
    if (!peak) return std::nullopt;
    MeasuredNeed need{.least = std::max<std::int64_t>(0, *peak - held_beyond(attempt)), .most = *peak};
    // Seen from outside, now and then, a program's peak is a lower bound. Less than was predicted shows nothing.
    if (!attempt.peak_allocated && attempt.estimate && attempt.estimate->source == to_text(PeakSource::virtual_card))
        need.most = std::max(need.most, bare_need(*attempt.estimate));
    return need;
}

HPO_INLINE std::optional<std::int64_t> least_need(const Attempt& attempt) {
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

HPO_INLINE std::optional<Residual> residual_of(const ParamSet& params, const Attempt& attempt) {
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

}  // namespace hpo::memory::calibration
