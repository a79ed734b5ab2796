// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "hpo/core/study.hpp"
#include "hpo/store/sqlite_connection.hpp"
#include "hpo/store/stored_time.hpp"

namespace hpo::store {

// Rows of Optuna's tables. All of these belong inside Connection::write.

[[nodiscard]] std::int64_t insert_study(Connection& connection, const std::string& name, std::span<const Direction> directions);

/// Design note: Optuna's tables know no cascade, Optuna deletes row by row. Ours follow by trigger.
void delete_study_rows(Connection& connection, std::int64_t study_id);

/// Adds a trial. Its number follows the study's last one, which is what Optuna gets by counting.
[[nodiscard]] Trial insert_trial(Connection& connection, TimeZone zone, std::int64_t study_id, std::optional<Time> started);

/// In place of those that are stored.
void write_params(Connection& connection, const Trial& trial);

void write_report(Connection& connection, std::int64_t trial_id, const Report& report);

/// Moves the trial's intermediate values, but those up to `last_kept`, to one of its attempts.
void move_reports(Connection& connection, std::int64_t trial_id, int attempt, std::optional<std::int64_t> last_kept);

/// Attributes, and the constraints in both of the forms that readers know.
void write_attributes(Connection& connection, std::string_view place, const Trial& trial);

/// True when a trial goes on with the one of this number, for good (goes_on_with, from rows).
[[nodiscard]] bool is_taken_over(Connection& connection, std::int64_t study_id, std::int64_t number);

/// Adds a trial that goes on with another: RUNNING, with what it begins with.
[[nodiscard]] Trial insert_retry(Connection& connection, std::string_view place, TimeZone zone, std::int64_t study_id,
                                 std::optional<std::int64_t> run_id, Trial retry);

/// State, values, attributes and constraints of a trial that has ended.
void write_end(Connection& connection, std::string_view place, TimeZone zone, const Trial& trial);

/// How many objectives the trial's study has.
[[nodiscard]] std::size_t objectives_of(Connection& connection, std::int64_t trial_id);

}  // namespace hpo::store

#ifndef HPO_COMPILED
#include "hpo/store/impl/trial_writing_inl.hpp"
#endif
