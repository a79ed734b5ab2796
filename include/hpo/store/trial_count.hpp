// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "hpo/store/optuna_shape.hpp"
#include "hpo/store/sqlite_connection.hpp"

namespace hpo::store {

/// Counts the trials of one study against a quota. A finished trial changes no more, so that the first ones, up to one that has
/// not finished, are counted once.
class TrialCount {
public:
    /// Finished trials that count as done.
    [[nodiscard]] std::int64_t done(Connection& connection, const OptunaShape& shape, std::int64_t study_id);

    /// RUNNING trials of runs other than `run_id` that are not gone; after `done`, which says where to look.
    [[nodiscard]] std::int64_t running_elsewhere(Connection& connection, std::int64_t study_id, std::optional<std::int64_t> run_id,
                                                 double grace_seconds) const;

private:
    std::int64_t passed_ = -1;  ///< a trial id: up to it all have finished
    std::int64_t done_ = 0;     ///< of those up to it
};

}  // namespace hpo::store

#ifndef HPO_COMPILED
#include "hpo/store/impl/trial_count_inl.hpp"
#endif
