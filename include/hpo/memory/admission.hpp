// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <string>

#include "hpo/core/bytes.hpp"
#include "hpo/memory/concept.hpp"

namespace hpo {

/// What becomes of a proposal before launch.
struct Admission {
    enum class Answer {
        run,         ///< as planned
        shrink,      ///< with `plan`, whose micro-batch is smaller
        infeasible,  ///< at no micro-batch; `violation` above 0
    } answer = Answer::run;
    ExecutionPlan plan;
    Estimate estimate;     ///< for `plan`
    double violation = 0;  ///< need / capacity - 1 at the smallest plan
    std::string reason;
};

/// Holds a guard's estimate against the device: runs what fits, else halves the micro-batch down to `least_micro_batch`
/// (the effective batch stays), else refuses. O(log(micro-batch)) estimates.
template <MemoryGuard G>
[[nodiscard]] Admission admit(const G& guard, const MemoryQuery& query, std::int64_t least_micro_batch = 1) {
    Admission admission{Admission::Answer::run, query.plan, guard.estimate(query), 0, {}};
    const auto fits = [&] {
        return !query.capacity_bytes || !admission.estimate.need || *admission.estimate.need <= *query.capacity_bytes;
    };
    while (!fits()) {
        const auto micro = admission.plan.effective_micro_batch();
        if (!micro || *micro <= least_micro_batch) {
            admission.answer = Admission::Answer::infeasible;
            admission.violation =
                static_cast<double>(*admission.estimate.need) / static_cast<double>(std::max<std::int64_t>(1, *query.capacity_bytes)) - 1;
            admission.reason = "predicted " + format_bytes(*admission.estimate.need) + " of " + format_bytes(*query.capacity_bytes) +
                               (micro ? " at micro-batch " + std::to_string(*micro) : std::string{}) + " (" + admission.estimate.source +
                               ")";
            break;
        }
        admission.answer = Admission::Answer::shrink;
        admission.plan.micro_batch = std::max(least_micro_batch, *micro / 2);
        admission.estimate = guard.estimate(MemoryQuery{query.params, admission.plan, query.profile, query.capacity_bytes, query.history});
    }
    admission.plan.cap_bytes = admission.estimate.cap_bytes;
    return admission;
}

}  // namespace hpo
