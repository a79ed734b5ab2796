// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hpo/base/time.hpp"
#include "hpo/core/trial.hpp"
#include "hpo/store/sqlite/run_liveness.hpp"

namespace hpo::tune {

/// What `hpo-tune retry` is asked to do.
struct RetryRequest {
    bool stale = false;                        ///< end RUNNING trials that surely run no more
    bool failed = false;                       ///< let failed trials run again
    std::optional<double> older_than_seconds;  ///< without a sign of life: then a trial is over of which no process tells whether it runs
    bool dry_run = false;                      ///< change nothing
};

/// A trial that the store has as RUNNING.
struct RunningTrial {
    std::int64_t id = -1;
    std::int64_t number = -1;
    std::optional<Run> run;         ///< nullopt: another program began it, such as Optuna
    std::optional<Time> heartbeat;  ///< that Optuna keeps for it
    std::optional<Time> started;

    enum class Life { lives, ended, not_known };
    /// If hpo ran the trial on this machine, its process decides. Otherwise only `older_than_seconds` can say that the trial is over.
    [[nodiscard]] Life life(Time at, const std::optional<double>& older_than_seconds) const;
    /// The latest moment at which it is known to have run.
    [[nodiscard]] std::optional<Time> last_sign() const;
    /// How it is known, or why it is not: "its process 71 on this machine is gone".
    [[nodiscard]] std::string reason(Time at) const;
};

/// A failed trial, and the waiting one that runs it again.
struct RetriedTrial {
    Trial failed;
    std::int64_t number = -1;  ///< of the new trial; what it would have in a dry run
};

struct RetryResult {
    std::string study;
    std::vector<RunningTrial> ended;      ///< are FAIL now
    std::vector<RunningTrial> running;    ///< stay as they are
    std::vector<RunningTrial> could_end;  ///< are over, and stay because it was not asked for
    std::vector<RunningTrial> not_known;  ///< stay, because nothing tells whether they run
    std::vector<RetriedTrial> retried;
    std::vector<std::int64_t> without_params;  ///< failed before they had any, so there is nothing to run again
    std::vector<std::int64_t> retried_before;
};

/// Mends a study in one transaction: either all of it is done, or nothing. `study` may be empty if the file has only one.
///
/// An ended trial becomes FAIL. Of a failed one, a WAITING trial with the same parameters is added, with the attributes by which Optuna
/// knows retries (store/retries.hpp). The attributes that say how it failed are left out. No trial is retried twice. Throws Error for a
/// file that cannot be written, or whose format is too old to be, and unknown_name if there is no such study.
[[nodiscard]] RetryResult retry_trials(const std::string& file, const std::string& study, const RetryRequest& request);

}  // namespace hpo::tune
