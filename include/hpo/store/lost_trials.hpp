// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <vector>

#include "hpo/store/run_liveness.hpp"
#include "hpo/store/sqlite_connection.hpp"
#include "hpo/store/stored_time.hpp"

namespace hpo::store {

/// A run of which trials are RUNNING.
struct BusyRun {
    KnownRun known;
    std::vector<std::int64_t> trial_ids;
};

/// The runs that RUNNING trials of a study belong to. Trials that were begun without a run, Optuna's among them, have none.
/// Looks only at trials above `after_trial_id`: in a long study that is all it costs.
[[nodiscard]] std::map<std::int64_t, BusyRun> busy_runs(Connection& connection, std::int64_t study_id, std::int64_t after_trial_id = -1);

/// Ends one trial of a run that is gone: FAIL, marked as lost, its unfinished attempts interrupted.
void settle_lost_trial(Connection& connection, TimeZone zone, std::int64_t trial_id, const KnownRun& known);

/// Settles the trials of all runs that are gone and returns their ids. Belongs inside Connection::write.
[[nodiscard]] std::vector<std::int64_t> settle_lost(Connection& connection, TimeZone zone, std::int64_t study_id, double grace_seconds);

}  // namespace hpo::store

#ifndef HPO_COMPILED
#include "hpo/store/impl/lost_trials_inl.hpp"
#endif
