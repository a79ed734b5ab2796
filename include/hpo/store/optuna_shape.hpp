// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "hpo/store/optuna_schema.hpp"
#include "hpo/store/sqlite_connection.hpp"
#include "hpo/store/stored_time.hpp"

namespace hpo::store {

/// What a file holds: which of Optuna's revisions, what a peer added, and whether our tables are there.
struct OptunaShape {
    bool empty = false;           ///< no table at all
    std::string revision;         ///< alembic's; empty in files that Rustuna made
    std::string library_version;  ///< of the release that made or upgraded the file
    TimeZone zone = TimeZone::utc;
    bool has_objectives = true;          ///< study_directions and trial_values.objective (since v2.4.0.a)
    bool has_value_types = true;         ///< infinite objective values (since v3.0.0.d)
    bool has_intermediate_types = true;  ///< NaN and infinite intermediate values (since v3.0.0.c)
    bool has_trial_numbers = true;       ///< trials.number (since v1.3.0.a)
    bool has_discarded = false;          ///< Rustuna's trials.discarded_at, which hides a trial
    bool has_hpo_tables = false;

    /// True when we may add trials to the file as it is.
    [[nodiscard]] bool is_writable() const { return has_objectives && has_value_types && has_intermediate_types && has_trial_numbers; }
};

/// Looks at a file; throws Error{Errc::store_schema} for one that is not Optuna's or ours, or that is of a newer schema.
/// Belongs inside Connection::read or write.
[[nodiscard]] OptunaShape read_shape(Connection& connection);

}  // namespace hpo::store

#ifndef HPO_COMPILED
#include "hpo/store/impl/optuna_shape_inl.hpp"
#endif
