// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "hpo/core/history.hpp"
#include "hpo/core/plan.hpp"
#include "hpo/guard/calibration/observation.hpp"
#include "hpo/guard/predicted_estimate.hpp"

namespace hpo::guard {

/// The work of an attempt, as far as its prediction describes it.
struct PredictedWork {
    const ResidualGroup& group;
    const ExecutionPlan& plan;
    std::int64_t bare_need = 0;
};

[[nodiscard]] inline bool is_same_work(const PredictedWork& work, const Attempt& attempt) {
    const ExecutionPlan& plan = attempt.plan;
    return attempt.estimate && bare_need(*attempt.estimate) == work.bare_need &&
           plan.effective_micro_batch() == work.plan.effective_micro_batch() &&
           (plan.accumulation_steps() > 1) == (work.plan.accumulation_steps() > 1) && same_levers(plan, work.plan);
}

/// The largest log(true need / predicted need) of all attempts of the same family with the same work. Includes the lower bounds from
/// attempts that ran out of memory. Returns nullopt if none of these attempts ended without running out of memory. O(attempts).
[[nodiscard]] inline std::optional<double> measured_before(const History& history, const PredictedWork& work) {
    std::optional<double> largest;
    bool ended = false;
    const auto look = [&](const ParamSet& params, const Attempt& attempt) {
        if (!is_same_work(work, attempt)) return;
        const auto residual = residual_of(params, attempt);
        if (!residual || residual->group.pool != work.group.pool || residual->group.family != work.group.family) return;
        largest = std::max(largest.value_or(residual->log_ratio), residual->log_ratio);
        ended = ended || !residual->censored;
    };
    for (const Attempt& attempt : history.other_studies) look(ParamSet{}, attempt);
    for (const Trial& trial : history.trials) {
        for (const Attempt& attempt : trial.attempts) look(params_of(trial, attempt), attempt);
    }
    return ended ? largest : std::nullopt;
}

}  // namespace hpo::guard
