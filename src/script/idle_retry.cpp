// SPDX-License-Identifier: MIT
#include "script/idle_retry.hpp"

#include <algorithm>
#include <string>

#include "hpo/failure/cause.hpp"
#include "hpo/script/lua_state.hpp"

namespace hpo::script::recovery_answer {

/// The plan as an attempt would run it.
[[nodiscard]] ExecutionPlan effective_plan(const FailedAttempt& failed, ExecutionPlan plan) {
    plan.micro_batch = plan.effective_micro_batch();
    if (!failed.may_have_device(plan.device)) plan.device = failed.attempt.plan.device;
    if (plan.cap_bytes && failed.attempt.capacity_bytes && *plan.cap_bytes >= *failed.attempt.capacity_bytes)
        plan.cap_bytes.reset();  // the device is the limit
    return plan;
}

bool changes_nothing(const FailedAttempt& failed, const Recovery& retry) {
    const bool has_device = failed.may_have_device(retry.plan.device);
    const auto effective = [&](const ExecutionPlan& plan) { return effective_plan(failed, plan); };
    const FailureKind kind = failed.failure.kind;
    const bool is_other = kind == FailureKind::crash || kind == FailureKind::lost_worker || failed.attempt.checkpoint_step;
    if (is_other && has_device) return false;
    if (retry.fresh_worker || (retry.other_device && failed.other_devices > 0) || effective(retry.plan) != effective(failed.attempt.plan))
        return false;
    if (retry.params) {
        const ParamSet& before = params_of(failed.trial, failed.attempt);
        for (const Param& param : *retry.params) {
            const Param* const old = before.find(param.name);
            if (!old || old->value() != param.value()) return false;
        }
    }
    // What can never fit does not fit an empty device either.
    return !(retry.wait_seconds || retry.pause_seconds > 0 || retry.alone) || failed.failure.cause == OomCause::capacity;
}

const Attempt* failed_so(const FailedAttempt& failed, const Recovery& retry) {
    const bool circumstances = failed.attempt.checkpoint_step || retry.fresh_worker || retry.other_device || retry.alone ||
                               retry.wait_seconds || retry.pause_seconds > 0;
    const ExecutionPlan plan = effective_plan(failed, retry.plan);
    if (circumstances || plan == effective_plan(failed, failed.attempt.plan)) return nullptr;
    const ParamSet& params = retry.params ? *retry.params : failed.trial.params;
    const auto same = [&](const Attempt& earlier) {
        return earlier.failure && is_memory(earlier.failure->kind) &&
               follows_from_configuration(earlier.failure->cause.value_or(OomCause::unknown)) &&
               effective_plan(failed, earlier.plan) == plan && params_of(failed.trial, earlier) == params;
    };
    const auto found = std::ranges::find_if(failed.trial.attempts, same);
    return found == failed.trial.attempts.end() ? nullptr : &*found;
}

std::string idle_note(const FailedAttempt& failed, const Recovery& retry) {
    if (!failed.may_have_device(retry.plan.device)) {
        std::string names;
        for (const std::string& name : failed.devices) names += (names.empty() ? "" : ", ") + name;
        return "hpo.retry asks for device '" + clipped(retry.plan.device) +
               "', which this run does not have, so the recovery policy decides; the run's devices: " + names;
    }
    if (retry.other_device) return "hpo.retry asks for another device, and the run has no other to use, so the recovery policy decides";
    const bool waits = retry.wait_seconds || retry.pause_seconds > 0 || retry.alone;
    return std::string{"hpo.retry changes nothing"} + (waits ? " for a trial that cannot fit the empty device" : "") +
           ", so the recovery policy decides; expected another plan, other params, fresh_worker, other_device" +
           (waits ? "" : ", wait, pause or alone");
}

}  // namespace hpo::script::recovery_answer
