// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "hpo/store/sqlite/connection.hpp"
#include "hpo/store/sqlite/optuna_shape.hpp"
#include "hpo/store/sqlite/run_liveness.hpp"

namespace hpo::store {

/// Counts the trials of one study against a quota. A finished trial no longer changes. So all trials before the first unfinished one are
/// counted only once.
class TrialCount {
public:
    /// How many finished trials count as done.
    [[nodiscard]] std::int64_t done(Connection& connection, const OptunaShape& shape, std::int64_t study_id);

    /// How many trials are RUNNING in other runs than `run_id` that are not gone. Call `done` first, because it finds out where to look.
    [[nodiscard]] std::int64_t running_in_other_runs(Connection& connection, std::int64_t study_id, std::optional<std::int64_t> run_id,
                                                     double grace_seconds, RunWatch& watch) const;

private:
    std::int64_t passed_ = -1;  ///< a trial id; all trials up to it have finished
    std::int64_t done_ = 0;     ///< how many of these count as done
};

}  // namespace hpo::store
