// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/core/history.hpp"

namespace hpo {

/// Says why the trainer cannot change from one plan to another, or nullopt if it can. Not set: it obeys every plan.
using PlanRefusal = std::function<std::optional<std::string>(const ExecutionPlan& from, const ExecutionPlan& to)>;

/// An attempt that failed, with its trial and the study's history.
struct FailedAttempt {
    const Trial& trial;  ///< its `attempts` end with `attempt`
    const Attempt& attempt;
    const Failure& failure;
    const History& history;
    const PlanRefusal* refuses_plan = nullptr;  ///< null: the trainer obeys every plan
    std::size_t other_devices = 0;              ///< of the study's run that could run another attempt now
    std::vector<std::string> devices{};         ///< names of the run's devices; empty: not known

    /// False if it is known that the run has no such device.
    [[nodiscard]] bool may_have_device(std::string_view name) const {
        return devices.empty() || std::ranges::find(devices, name) != devices.end();
    }
};

/// The answer to a failure.
struct Recovery {
    enum class Action {
        fail,   ///< the trial ends as FAIL
        prune,  ///< the trial ends as PRUNED, and for a memory failure as infeasible
        retry,  ///< another attempt, under `plan`
    } action = Action::fail;
    ExecutionPlan plan{};
    /// Changed parameters. Those that it leaves out stay as they were in the failed attempt. The attempt records them beside the trial's
    /// own. A value that the trial's distribution does not have ends the trial as FAIL, with the reason.
    std::optional<ParamSet> params{};
    bool fresh_worker = false;             ///< in a process that has run no attempt yet
    std::optional<double> wait_seconds{};  ///< starts when enough of the device is free, or after this time
    double wait_interval_seconds = 0;      ///< how often it looks at what is free; 0: ten times a second
    double pause_seconds = 0;              ///< starts when this time has passed, not before
    bool other_device = false;             ///< on another device of the run, if one can be used
    bool alone = false;                    ///< starts when no other attempt runs, and none is started beside it
    std::string note{};                    ///< about a rule of a script that did not do what it seems to; empty: none
    std::string reason{};                  ///< in words, for the post-mortem
    bool is_reason_of_rule = false;        ///< a rule of a script ends the trial, and gave the reason
    std::string place{};                   ///< of the answer in a script, as "study.lua:12"; empty: no rule answered
    std::string rung{};                    ///< name of the rung that answered; empty: none
    std::string rule_error{};              ///< error of a rule that failed instead of answering, or gave an impossible answer; empty: none
};

/// An answer under the failed attempt's plan.
[[nodiscard]] inline Recovery recovery_of(const FailedAttempt& failed, Recovery::Action action, std::string reason) {
    return {.action = action, .plan = failed.attempt.plan, .reason = std::move(reason)};
}

/// Decides what follows a failed attempt. It only decides: the worker never retries by itself.
template <class R>
concept RecoveryPolicy = std::movable<R> && requires(const R& recovery, const FailedAttempt& failed) {
    { recovery.recover(failed) } -> std::same_as<Recovery>;
};

}  // namespace hpo
