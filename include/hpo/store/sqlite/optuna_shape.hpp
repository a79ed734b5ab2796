// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "hpo/store/sqlite/connection.hpp"
#include "hpo/store/sqlite/optuna_schema.hpp"
#include "hpo/store/sqlite/stored_time.hpp"

namespace hpo::store {

/// What a file holds: Optuna's revision, what other programs added, and whether our tables are there.
struct OptunaShape {
    bool empty = false;           ///< no table at all
    std::string revision;         ///< from alembic; empty in files that Rustuna made
    std::string library_version;  ///< of the release that made or upgraded the file
    TimeZone zone = TimeZone::utc;
    bool has_objectives = true;          ///< study_directions and trial_values.objective (since v2.4.0.a)
    bool has_value_types = true;         ///< infinite objective values (since v3.0.0.d)
    bool has_intermediate_types = true;  ///< NaN and infinite intermediate values (since v3.0.0.c)
    bool has_trial_numbers = true;       ///< trials.number (since v1.3.0.a)
    bool has_discarded = false;          ///< Rustuna's trials.discarded_at, which hides a trial
    bool has_hpo_tables = false;
    bool is_hpo_complete = false;  ///< no column is absent, and no index or trigger was lost

    /// True if trials can be added to the file without an upgrade.
    [[nodiscard]] bool is_writable() const { return has_objectives && has_value_types && has_intermediate_types && has_trial_numbers; }
};

/// Looks at a file. Throws Error{Errc::store_schema} if it is neither Optuna's nor ours, or if its schema is newer. Call it inside
/// Connection::read or write.
[[nodiscard]] OptunaShape read_shape(Connection& connection);

}  // namespace hpo::store
