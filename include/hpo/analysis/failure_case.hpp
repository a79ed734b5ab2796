// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hpo/analysis/told_failure.hpp"
#include "hpo/core/trial.hpp"

namespace hpo::analysis {

/// One failed attempt, whoever ran the study: from our attempts, or from the attributes that other programs leave.
struct FailureCase {
    const Trial* trial = nullptr;      ///< valid as long as the trials that were read
    const Attempt* attempt = nullptr;  ///< null for a study that another program ran
    Failure failure;
    std::optional<double> seconds;          ///< that the attempt took
    std::optional<MemoryReading> at_start;  ///< the device when the attempt began
    std::string process;                    ///< who ran it, as far as that is known
    bool victim = false;                    ///< the process was already poisoned: no fault of this trial
    std::optional<std::int64_t> victim_of;  ///< the trial that poisoned it
    bool recovered = false;                 ///< a later attempt of the same trial ran, to its end or until it was pruned
    std::string told_in;  ///< of another program's trial, where that stands: "attribute error_message", "run.log, line 12"
    std::optional<std::int64_t> repeated_by;  ///< the trial that Optuna began in its place when its process gave no sign of life

    [[nodiscard]] const ParamSet& params() const { return attempt ? params_of(*trial, *attempt) : trial->params; }
    /// Failed, and no word of it was kept: an out-of-memory is as possible as anything else.
    [[nodiscard]] bool silent() const { return !attempt && told_in.empty(); }
    /// It was ended instead of being started: no trainer has failed.
    [[nodiscard]] bool not_run() const;
    /// Its process was gone or ended by SIGKILL, and nothing tells by whom: the kernel's out-of-memory killer, or anybody.
    [[nodiscard]] bool killed() const {
        constexpr std::int64_t sigkill = 9;
        return !silent() && (failure.kind == FailureKind::lost_worker || (failure.kind == FailureKind::crash && failure.signal == sigkill));
    }
    /// Ran out of memory, on the device or on the host; a refusal before launch did not.
    [[nodiscard]] bool is_oom() const {
        return !victim && (failure.kind == FailureKind::out_of_memory || failure.kind == FailureKind::host_out_of_memory);
    }
};

namespace detail {

/// What the trial took: the time of its attempts, without the wait for the device before and between them. Where that is not known, the
/// time from its start to its end.
[[nodiscard]] std::optional<double> trial_seconds(const Trial& trial);

[[nodiscard]] std::string foreign_process(const Trial& trial);

[[nodiscard]] std::optional<MemoryReading> start_of(const Trial& trial, const Attempt* attempt);

}  // namespace detail

/// The highest memory that the attempt was seen to use on its device.
[[nodiscard]] inline std::optional<std::int64_t> peak_of(const Attempt& attempt) {
    return std::max(attempt.peak_reserved, attempt.peak_allocated);  // nothing is below any number
}

/// The highest memory that the trial was seen to use on its device, in any of its attempts.
[[nodiscard]] std::optional<std::int64_t> peak_of(const Trial& trial);

/// Every failed attempt of finished trials, in order of trial and attempt; running and waiting trials have none. Causes are what the
/// failure itself tells: what other trials add is explain_by_history's (analysis/history_cause.hpp). `log` adds what the program's own
/// log says, also of trials that are still RUNNING.
[[nodiscard]] std::vector<FailureCase> failure_cases(std::span<const Trial> trials, const ToldFailures& log = {});

}  // namespace hpo::analysis

#ifndef HPO_COMPILED
#include "hpo/analysis/impl/failure_case_inl.hpp"
#endif
