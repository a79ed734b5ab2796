// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <vector>

#include "hpo/store/sqlite/connection.hpp"
#include "hpo/store/sqlite/run_liveness.hpp"
#include "hpo/store/sqlite/stored_time.hpp"

namespace hpo::store {

/// A run that has RUNNING trials.
struct BusyRun {
    Run run;
    std::vector<std::int64_t> trial_ids;
};

/// The runs of a study's RUNNING trials. Trials that were begun without a run, such as Optuna's, have none. It only looks at trials above
/// `after_trial_id`, so it is fast in a long study too.
[[nodiscard]] std::map<std::int64_t, BusyRun> busy_runs(Connection& connection, std::int64_t study_id, std::int64_t after_trial_id = -1);

/// Ends one trial of a run that is gone. It becomes FAIL with the mark `lost`, and its unfinished attempts end as interrupted.
void settle_lost_trial(Connection& connection, TimeZone zone, std::int64_t trial_id, const Run& run);

/// Settles the trials of all runs that are gone, and returns the ids of these trials. Call it inside Connection::write.
[[nodiscard]] std::vector<std::int64_t> settle_lost(Connection& connection, TimeZone zone, std::int64_t study_id, double grace_seconds,
                                                    RunWatch& watch);

}  // namespace hpo::store
