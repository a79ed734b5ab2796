// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <string>

#include "hpo/base/bytes.hpp"
#include "hpo/base/error.hpp"
#include "hpo/core/device_word.hpp"
#include "hpo/core/memory_evidence.hpp"
#include "hpo/guard/concept.hpp"

namespace hpo {

/// The decision on a proposal before launch.
struct Admission {
    enum class Answer {
        run,         ///< launch it as planned
        shrink,      ///< launch it with `plan`, which has a smaller micro-batch or activation checkpointing
        wait,        ///< launch it with `plan` later: it fits the device, but not the memory that is free now
        infeasible,  ///< it does not fit with any plan; `violation` is above 0
    } answer = Answer::run;
    ExecutionPlan plan;
    Estimate estimate;                         ///< the estimate for `plan`
    std::optional<std::int64_t> room_bytes{};  ///< free memory that it also had to fit, besides the capacity
    double violation = 0;                      ///< need / capacity - 1 with the smallest plan
    std::string reason;
};

/// A proposal, and how far admission may change its plan.
struct AdmissionQuery {
    const ParamSet& params;
    const ExecutionPlan& plan;
    std::optional<std::int64_t> capacity_bytes;
    const History& history;
    std::int64_t least_micro_batch = 1;
    bool may_checkpoint = false;  ///< admission may turn on activation checkpointing
    RunsOn runs_on{};
    double target_share = 1;  ///< share of the capacity, above 0, that a plan with a shrunk micro-batch should keep to
};

/// Compares a guard's estimate with the device. A proposal that fits runs as planned. Else its micro-batch is halved, down to
/// `least_micro_batch`. The effective batch stays the same. If that is not enough, activation checkpointing is turned on where
/// `may_checkpoint` allows it. The halving then starts again from the planned micro-batch. If no plan fits the capacity, the proposal is
/// refused.
///
/// A LookingGuard also says how much memory is free now. Then a plan is shrunk to fit that, too. A smallest plan that fits the device but
/// not the free memory waits.
///
/// The capacity is the query's or the evidence's, whichever is less. On a CPU it is the plan's own cap, if that is less still: on a GPU a
/// cap is without the context, which an estimate counts. Makes O(log(micro-batch)) estimates, and calls `evidence(plan)`, which returns a
/// MemoryEvidence, for each. Throws bad_value for a negative need, which is a mistake of the guard.
///
/// The largest micro-batch that fits would take the whole device. So if `target_share` is below 1, a micro-batch that had to be shrunk is
/// halved up to twice more. This stops when the plan's need and comfort are within that share of the capacity. If they never are, the
/// largest micro-batch that fits stays.
template <MemoryGuard G, std::invocable<const ExecutionPlan&> Fetch>
[[nodiscard]] Admission admit(const G& guard, const AdmissionQuery& query, Fetch&& evidence) {
    Admission admission{Admission::Answer::run, query.plan, {}, 0, {}};
    std::optional<std::int64_t> capacity = query.capacity_bytes;
    if (const auto& cap = query.plan.cap_bytes; cap && is_cpu(query.plan.device)) capacity = std::min(*cap, capacity.value_or(*cap));
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
        if (const auto least = std::min(admission.estimate.need.value_or(0), admission.estimate.comfort.value_or(0)); least < 0)
            throw bad_value("memory guard" + (admission.estimate.source.empty() ? std::string{} : " (" + admission.estimate.source + ")"),
                            "a need of " + std::to_string(least) + " bytes", "0 or more, or none if it is not known");
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
        constexpr int most_halvings = 2;  // with more, the slower step costs more than the memory that it leaves is worth
        const Admission largest = admission;
        for (int halvings = 0; halvings < most_halvings && !leaves_room() && may_shrink(); ++halvings) {
            admission.plan.micro_batch = std::max(query.least_micro_batch, *admission.plan.effective_micro_batch() / 2);
            estimate();
        }
        if (!leaves_room()) admission = largest;
    }
    if (const auto& cap = admission.estimate.cap_bytes) admission.plan.cap_bytes = std::min(*cap, admission.plan.cap_bytes.value_or(*cap));
    return admission;
}

/// The same with the evidence that the query has, for all plans.
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
