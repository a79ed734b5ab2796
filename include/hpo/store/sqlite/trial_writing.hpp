// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "hpo/core/study.hpp"
#include "hpo/store/sqlite/connection.hpp"
#include "hpo/store/sqlite/stored_time.hpp"

namespace hpo::store {

// Rows of Optuna's tables. Call all of these inside Connection::write.

[[nodiscard]] std::int64_t insert_study(Connection& connection, const std::string& name, std::span<const Direction> directions);

/// Deletes a study's rows.
/// Design note: Optuna's tables do not cascade, and Optuna deletes row by row. Triggers delete our rows.
void delete_study_rows(Connection& connection, std::int64_t study_id);

/// Adds a trial. Its number follows the study's last one, which is what Optuna gets by counting.
[[nodiscard]] Trial insert_trial(Connection& connection, TimeZone zone, std::int64_t study_id, std::optional<Time> started);

/// Replaces the stored parameters.
void write_params(Connection& connection, const Trial& trial);

void write_report(Connection& connection, std::int64_t trial_id, const Report& report);

/// Moves the trial's intermediate values after `last_kept` to one of its attempts. Moves all of them if that is nullopt.
void move_reports(Connection& connection, std::int64_t trial_id, int attempt, std::optional<std::int64_t> last_kept);

/// How constraints are written. Optuna 5 reads `constraints:NAME`. It reads the list `constraints`, too, as constraints "0", "1", ...; that
/// is where a `constraints_func` puts them. Earlier versions and the dashboard read only the list.
enum class ConstraintFormat {
    every_version,  ///< each by its name, and all in the list; so Optuna 5 sees each twice
    optuna_5,       ///< each once: those named "0", "1", ... in the list, the others by name
};

void write_attributes(Connection& connection, std::string_view place, const Trial& trial);

/// True if a trial has taken the place of the one with this number. As goes_on_with, but from rows.
[[nodiscard]] bool is_taken_over(Connection& connection, std::int64_t study_id, std::int64_t number);

/// Adds a RUNNING trial that goes on with another one, with its parameters, attributes and reports.
[[nodiscard]] Trial insert_retry(Connection& connection, std::string_view place, TimeZone zone, std::int64_t study_id,
                                 std::optional<std::int64_t> run_id, Trial retry);

/// Writes state, values, attributes and constraints of a trial that has ended.
void write_end(Connection& connection, std::string_view place, TimeZone zone, const Trial& trial, ConstraintFormat format);

/// How many objectives the trial's study has.
[[nodiscard]] std::size_t objectives_of(Connection& connection, std::int64_t trial_id);

}  // namespace hpo::store
