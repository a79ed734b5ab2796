// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hpo/analysis/failure_cases/told_failure.hpp"
#include "hpo/core/trial.hpp"

namespace hpo::analysis {

/// True if memory ran out, on the device or on the host. False for a refusal before that.
[[nodiscard]] constexpr bool ran_out_of_memory(FailureKind kind) {
    return kind == FailureKind::out_of_memory || kind == FailureKind::host_out_of_memory;
}

/// True if a program said that it failed, and no more.
[[nodiscard]] inline bool says_nothing(const Failure& failure) {
    return failure.kind == FailureKind::trainer_error && failure.message.empty() && failure.traceback.empty() && failure.type.empty() &&
           !failure.signal && !failure.exit_status;
}

/// A failed attempt: one of hpo's own, or one that another program left in a trial's attributes. The error of a rule that was asked about
/// a trial's last attempt is a case of its own (rule_failure).
struct FailureCase {
    const Trial* trial = nullptr;      ///< valid as long as the trials that were given
    const Attempt* attempt = nullptr;  ///< null for a study that another program ran
    Failure failure;
    std::optional<double> seconds;            ///< how long the attempt took
    std::optional<MemoryReading> at_start;    ///< a reading of the device when the attempt began
    std::string process;                      ///< the process that ran it, if known
    bool victim = false;                      ///< the process was already poisoned, so the trial is not at fault
    std::optional<std::int64_t> victim_of;    ///< the trial that poisoned it
    bool recovered = false;                   ///< a later attempt of the same trial ran to its end or was pruned
    bool caught = false;                      ///< another program's trial that is complete all the same: the program went on after it
    std::string told_in;                      ///< for another program's trial, the source: "attribute error_message", "run.log, line 12"
    std::optional<std::int64_t> repeated_by;  ///< the trial that Optuna began in its place after its process gave no sign of life

    /// A trial that needs at least as much memory and ran to its end. So the configuration is not known to be the reason.
    std::optional<std::int64_t> larger_ran{};
    /// False if less of a parameter is not known to help, because a larger trial ran, or larger ones did for most of the others that
    /// failed.
    bool size_decides = true;

    [[nodiscard]] const ParamSet& params() const { return attempt ? params_of(*trial, *attempt) : trial->params; }
    /// True if it failed without a message. Any cause is possible, also an out-of-memory.
    [[nodiscard]] bool silent() const { return attempt ? says_nothing(failure) : told_in.empty(); }
    /// True if it was ended before it started. No trainer has failed.
    [[nodiscard]] bool not_run() const;
    /// True if its process was gone or ended by SIGKILL, for an unknown reason. It may have been the kernel's out-of-memory killer. False
    /// if hpo ended the worker itself, or could not start it: the message then says why.
    [[nodiscard]] bool killed() const;
    /// True if it was lost together with the process of the run that supervised it. Its own end is not known.
    [[nodiscard]] bool lost_with_run() const;
    /// True if only Optuna's own words about the returned value are known: it was NaN or None. Nothing says why the program returned it.
    [[nodiscard]] bool only_value_is_known() const;
    /// True if it ran out of memory, on the device or on the host. A refusal before launch does not count.
    [[nodiscard]] bool is_oom() const { return !victim && ran_out_of_memory(failure.kind); }
};

}  // namespace hpo::analysis

namespace hpo::analysis::detail {

/// The time that the trial took: the sum of its attempts, without the waits for the device. If that is not known, the time from its start
/// to its end.
[[nodiscard]] std::optional<double> trial_seconds(const Trial& trial);

[[nodiscard]] std::string foreign_process(const Trial& trial);

[[nodiscard]] std::optional<MemoryReading> start_of(const Trial& trial, const Attempt* attempt);

/// True if a device was full that hpo does not meter, as one of which it does not know. The peaks of such attempts are of the host, and say
/// nothing about the device.
[[nodiscard]] bool peaks_are_of_the_host(std::span<const FailureCase> cases);

}  // namespace hpo::analysis::detail

namespace hpo::analysis {

/// The attempt's highest measured use of its device.
[[nodiscard]] inline std::optional<std::int64_t> peak_of(const Attempt& attempt) {
    return std::max(attempt.peak_reserved, attempt.peak_allocated);  // nullopt is less than any number
}

/// The trial's highest measured use of its device, in any of its attempts.
[[nodiscard]] std::optional<std::int64_t> peak_of(const Trial& trial);

/// Visits each trial with its failed attempts, in order. Holds the cases of one trial at a time. Running and waiting trials have none.
/// Causes are those that the failure itself shows. `log` adds what the program's own log says, also about trials that are still RUNNING.
void each_with_failure_cases(std::span<const Trial> trials, const ToldFailures& log,
                             const std::function<void(const Trial&, std::vector<FailureCase>)>& visit);

/// Every failed attempt, in order of trial and attempt. explain_by_history adds the causes that other trials show
/// (analysis/failure_cases/history_cause.hpp).
[[nodiscard]] std::vector<FailureCase> failure_cases(std::span<const Trial> trials, const ToldFailures& log = {});

}  // namespace hpo::analysis
