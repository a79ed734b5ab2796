// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <string>

#include "hpo/core/bytes.hpp"
#include "hpo/core/memory_evidence.hpp"
#include "hpo/memory/concept.hpp"

namespace hpo {

/// What becomes of a proposal before launch.
struct Admission {
    enum class Answer {
        run,         ///< as planned
        shrink,      ///< with `plan`, whose micro-batch is smaller, or which computes activations again
        wait,        ///< with `plan`, as soon as others leave it room: it fits the device, but not what is left of it now
        infeasible,  ///< in no way; `violation` above 0
    } answer = Answer::run;
    ExecutionPlan plan;
    Estimate estimate;                         ///< for `plan`
    std::optional<std::int64_t> room_bytes{};  ///< what it was held against besides the capacity
    double violation = 0;                      ///< need / capacity - 1 at the smallest plan
    std::string reason;
};

/// A proposal, and how far its plan may be changed.
struct AdmissionQuery {
    const ParamSet& params;
    const ExecutionPlan& plan;
    std::optional<std::int64_t> capacity_bytes;
    const History& history;
    std::int64_t least_micro_batch = 1;
    bool may_checkpoint = false;  ///< activation checkpointing may be turned on
    RunsOn runs_on{};
    double target_share = 1;  ///< of the capacity, above 0: a micro-batch that has to be shrunk leaves the rest to others where it can
};

/// Holds a guard's estimate against the device: runs what fits, else halves the micro-batch down to `least_micro_batch` (the effective
/// batch stays), else turns activation checkpointing on where that may be, from the planned micro-batch down again, else refuses. Where
/// the guard says what room there is now (LookingGuard), a plan is shrunk to that, too, and what fits the device but cannot be shrunk so
/// far waits. The capacity is the query's or, where that is less, the evidence's. O(log(micro-batch)) estimates; `evidence(plan)`, a
/// MemoryEvidence, is fetched for each.
///
/// The largest micro-batch that fits would have the device for itself. So where `target_share` is below 1, a micro-batch that had to be
/// shrunk is halved up to twice more until the plan's need and comfort are within that share of the capacity; where they are not even then,
/// the largest that fits stays.
template <MemoryGuard G, std::invocable<const ExecutionPlan&> Fetch>
[[nodiscard]] Admission admit(const G& guard, const AdmissionQuery& query, Fetch&& evidence) {
    Admission admission{Admission::Answer::run, query.plan, {}, 0, {}};
    std::optional<std::int64_t> capacity = query.capacity_bytes;
    const auto may_shrink = [&] {
        const auto micro = admission.plan.effective_micro_batch();
        return micro && *micro > query.least_micro_batch;
    };
    const auto may_checkpoint = [&] { return query.may_checkpoint && !admission.plan.activation_checkpointing; };
    const auto estimate = [&] {
        const MemoryEvidence known = evidence(admission.plan);
        if (known.device && known.device->capacity && (!capacity || *known.device->capacity < *capacity)) capacity = known.device->capacity;
        const MemoryQuery asked{.params = query.params,
                                .plan = admission.plan,
                                .profile = known.profile ? &*known.profile : nullptr,
                                .capacity_bytes = capacity,
                                .history = query.history,
                                .prediction = known.prediction ? &*known.prediction : nullptr,
                                .runs_on = query.runs_on,
                                .smallest_plan = !may_shrink() && !may_checkpoint(),
                                .device = known.device ? &*known.device : nullptr};
        admission.estimate = guard.estimate(asked);
        admission.room_bytes = room(guard, asked);
    };
    const auto within = [&](const std::optional<std::int64_t>& bytes) {
        return !bytes || !admission.estimate.need || *admission.estimate.need <= *bytes;
    };
    const auto fits = [&] { return within(capacity) && within(admission.room_bytes); };
    for (estimate(); !fits(); estimate()) {
        const auto micro = admission.plan.effective_micro_batch();
        if (may_shrink()) {
            admission.plan.micro_batch = std::max(query.least_micro_batch, *micro / 2);
        } else if (may_checkpoint()) {
            admission.plan.micro_batch = query.plan.micro_batch;
            admission.plan.activation_checkpointing = true;
        } else if (within(capacity)) {
            admission.answer = Admission::Answer::wait;
            break;
        } else {
            admission.answer = Admission::Answer::infeasible;
            admission.violation =
                static_cast<double>(*admission.estimate.need) / static_cast<double>(std::max<std::int64_t>(1, *capacity)) - 1;
            admission.reason = "predicted " + format_bytes(*admission.estimate.need) + " of " + format_bytes(*capacity) +
                               (micro ? " at micro-batch " + std::to_string(*micro) : std::string{}) + " (" + admission.estimate.source +
                               ")";
            break;
        }
        admission.answer = Admission::Answer::shrink;
    }
    const auto leaves_room = [&] {
        const Estimate& told = admission.estimate;
        return told.need && fits() &&
               static_cast<double>(std::max(*told.need, told.comfort.value_or(0))) <= query.target_share * static_cast<double>(*capacity);
    };
    const bool is_smaller =
        admission.answer == Admission::Answer::shrink && admission.plan.effective_micro_batch() != query.plan.effective_micro_batch();
    if (is_smaller && capacity && admission.estimate.need && query.target_share < 1) {
        constexpr int most_halvings = 2;  // beyond, a step takes longer than the room that it leaves is worth
        const Admission largest = admission;
        for (int halvings = 0; halvings < most_halvings && !leaves_room() && may_shrink(); ++halvings) {
            admission.plan.micro_batch = std::max(query.least_micro_batch, *admission.plan.effective_micro_batch() / 2);
            estimate();
        }
        if (!leaves_room()) admission = largest;
    }
    admission.plan.cap_bytes = admission.estimate.cap_bytes;
    return admission;
}

/// The same with what the query knows, whatever the plan.
template <MemoryGuard G>
[[nodiscard]] Admission admit(const G& guard, const MemoryQuery& query, std::int64_t least_micro_batch = 1) {
    return admit(guard,
                 AdmissionQuery{query.params, query.plan, query.capacity_bytes, query.history, least_micro_batch, false, query.runs_on},
                 [&](const ExecutionPlan&) {
                     MemoryEvidence known;
                     if (query.profile) known.profile = *query.profile;
                     if (query.prediction) known.prediction = *query.prediction;
                     if (query.device) known.device = *query.device;
                     return known;
                 });
}

}  // namespace hpo
