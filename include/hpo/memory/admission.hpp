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
        infeasible,  ///< in no way; `violation` above 0
    } answer = Answer::run;
    ExecutionPlan plan;
    Estimate estimate;     ///< for `plan`
    double violation = 0;  ///< need / capacity - 1 at the smallest plan
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
};

/// Holds a guard's estimate against the device: runs what fits, else halves the micro-batch down to `least_micro_batch` (the effective
/// batch stays), else turns activation checkpointing on where that may be, from the planned micro-batch down again, else refuses.
/// O(log(micro-batch)) estimates; `evidence(plan)`, a MemoryEvidence, is fetched for each.
template <MemoryGuard G, std::invocable<const ExecutionPlan&> Fetch>
[[nodiscard]] Admission admit(const G& guard, const AdmissionQuery& query, Fetch&& evidence) {
    Admission admission{Admission::Answer::run, query.plan, {}, 0, {}};
    const auto may_shrink = [&] {
        const auto micro = admission.plan.effective_micro_batch();
        return micro && *micro > query.least_micro_batch;
    };
    const auto may_checkpoint = [&] { return query.may_checkpoint && !admission.plan.activation_checkpointing; };
    const auto estimate = [&] {
        const MemoryEvidence known = evidence(admission.plan);
        admission.estimate = guard.estimate(
            MemoryQuery{query.params, admission.plan, known.profile ? &*known.profile : nullptr, query.capacity_bytes, query.history,
                        known.prediction ? &*known.prediction : nullptr, query.runs_on, !may_shrink() && !may_checkpoint()});
    };
    const auto fits = [&] {
        return !query.capacity_bytes || !admission.estimate.need || *admission.estimate.need <= *query.capacity_bytes;
    };
    for (estimate(); !fits(); estimate()) {
        const auto micro = admission.plan.effective_micro_batch();
        if (may_shrink()) {
            admission.plan.micro_batch = std::max(query.least_micro_batch, *micro / 2);
        } else if (may_checkpoint()) {
            admission.plan.micro_batch = query.plan.micro_batch;
            admission.plan.activation_checkpointing = true;
        } else {
            admission.answer = Admission::Answer::infeasible;
            admission.violation =
                static_cast<double>(*admission.estimate.need) / static_cast<double>(std::max<std::int64_t>(1, *query.capacity_bytes)) - 1;
            admission.reason = "predicted " + format_bytes(*admission.estimate.need) + " of " + format_bytes(*query.capacity_bytes) +
                               (micro ? " at micro-batch " + std::to_string(*micro) : std::string{}) + " (" + admission.estimate.source +
                               ")";
            break;
        }
        admission.answer = Admission::Answer::shrink;
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
                     return known;
                 });
}

}  // namespace hpo
