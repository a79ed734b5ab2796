// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "hpo/base/error.hpp"
#include "hpo/core/distribution.hpp"
#include "hpo/core/param_set.hpp"
#include "hpo/core/plan.hpp"
#include "hpo/recovery/concept.hpp"
#include "hpo/tuner/devices/reservation.hpp"
#include "hpo/tuner/verdicts.hpp"

namespace hpo::tuner {

/// What follows a failed attempt.
struct FailureAnswer {
    Recovery recovery;
    bool anew = false;             ///< the trial begins again, because it could not go on from its checkpoint
    std::int64_t least_bytes = 0;  ///< to be reserved for the next attempt; 0: what is predicted

    [[nodiscard]] bool is_retry() const { return recovery.action == Recovery::Action::retry; }
};

/// A changed parameter as the trial's distribution has it. Throws bad_value if it does not have the value. A parameter that the trial did
/// not draw may be an option of its trainer, and is taken as it is.
[[nodiscard]] inline Param changed_param(const Param& given, const ParamSet& drawn) {
    const Param* const known = drawn.find(given.name);
    const Distribution* const own = given.distribution.get();
    const bool is_value = own && contains(*own, given.internal);
    const auto internal = !is_value ? std::nullopt
                          : known   ? to_internal(*known->distribution, given.value())
                                    : std::optional{given.internal};
    if (internal) return known ? Param{known->name, known->distribution, *internal} : given;
    throw bad_value("recovery policy: parameter '" + given.name + "'",
                    is_value ? display_text(given.value()) : display_text(given.internal),
                    known ? describe(*known->distribution)
                    : own ? describe(*own)
                          : "a distribution");
}

/// Adds to the changed parameters of a retry those that stay as they were in the failed attempt. A value that cannot be ends the trial.
inline void complete_params(Recovery& recovery, const FailedAttempt& failed) {
    if (recovery.action != Recovery::Action::retry) return;
    if (!recovery.params) {
        recovery.params = failed.attempt.changed_params;
        return;
    }
    const ParamSet& before = params_of(failed.trial, failed.attempt);
    ParamSet all = before;
    try {
        for (const Param& given : *recovery.params) {
            const Param* const old = before.find(given.name);
            const bool is_unchanged =
                old && given.distribution && *old->distribution == *given.distribution && old->internal == given.internal;
            if (!is_unchanged) all.set(changed_param(given, failed.trial.params));
        }
        recovery.params = std::move(all);
    } catch (const Error& error) {
        Recovery refused = recovery_of(failed, Recovery::Action::fail, error.what());
        refused.rule_error = error.what();
        refused.place = std::move(recovery.place);
        refused.rung = std::move(recovery.rung);
        recovery = std::move(refused);
    }
}

/// A retry under a plan that no trainer can run ends the trial instead.
inline void require_possible_plan(Recovery& recovery, const FailedAttempt& failed) {
    if (recovery.action != Recovery::Action::retry) return;
    std::string error;
    each_plan_field([&](const auto& field) {
        if constexpr (std::is_same_v<decltype(field.member), std::optional<std::int64_t> ExecutionPlan::*>) {
            const auto number = recovery.plan.*field.member;
            if (field.role == PlanRole::lever && number && *number < 1)
                error = bad_value("recovery policy: " + std::string{field.key}, std::to_string(*number), "1 or more").what();
        }
    });
    if (error.empty()) return;
    recovery = recovery_of(failed, Recovery::Action::fail, error);
    recovery.rule_error = error;
}

/// Asks the policy, unless the configuration is not to blame: a checkpoint that cannot be read, or a reservation that was too small.
/// `reserved` are the bytes of the device that were reserved for the attempt, or nullopt if it had no reservation.
template <RecoveryPolicy R>
[[nodiscard]] FailureAnswer answer_of(const R& policy, const FailedAttempt& failed, std::optional<std::int64_t> reserved,
                                      const TuneOptions& options) {
    FailureAnswer answer;
    answer.anew = failed_to_go_on(failed.trial, failed.attempt);
    const bool more = !answer.anew && reserved && exceeded_reservation(failed.attempt, *reserved, failed.attempt.capacity_bytes);
    if (more) answer.least_bytes = larger_reservation(failed.attempt, *reserved);
    answer.recovery = answer.anew ? begin_anew(failed.attempt) : more ? ask_for_more(failed.attempt, *reserved) : policy.recover(failed);
    complete_params(answer.recovery, failed);
    require_possible_plan(answer.recovery, failed);
    bound_retry(answer.recovery, failed.attempt, options);
    return answer;
}

}  // namespace hpo::tuner
