// SPDX-License-Identifier: MIT
#include "hpo/store/sqlite/trial_writing.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "hpo/store/json_text.hpp"
#include "hpo/store/retries.hpp"
#include "hpo/store/sqlite/distribution_json.hpp"
#include "hpo/store/sqlite/optuna_schema.hpp"
#include "hpo/store/sqlite/trial_reading.hpp"
#include "hpo/store/store.hpp"

namespace hpo::store {

std::int64_t insert_study(Connection& connection, const std::string& name, std::span<const Direction> directions) {
    connection.run("INSERT INTO studies (study_name) VALUES (?1)", valid_utf8(name));
    const std::int64_t id = connection.last_id();
    for (std::size_t i = 0; i < directions.size(); ++i) {
        connection.run("INSERT INTO study_directions (direction, study_id, objective) VALUES (?1, ?2, ?3)",
                       directions[i] == Direction::minimize ? "MINIMIZE" : "MAXIMIZE", id, static_cast<int>(i));
    }
    return id;
}

void delete_study_rows(Connection& connection, std::int64_t study_id) {
    for (const char* sql : {"DELETE FROM trial_user_attributes WHERE trial_id IN (SELECT trial_id FROM trials WHERE study_id = ?1)",
                            "DELETE FROM trial_system_attributes WHERE trial_id IN (SELECT trial_id FROM trials WHERE study_id = ?1)",
                            "DELETE FROM trial_params WHERE trial_id IN (SELECT trial_id FROM trials WHERE study_id = ?1)",
                            "DELETE FROM trial_values WHERE trial_id IN (SELECT trial_id FROM trials WHERE study_id = ?1)",
                            "DELETE FROM trial_intermediate_values WHERE trial_id IN (SELECT trial_id FROM trials WHERE study_id = ?1)",
                            "DELETE FROM trial_heartbeats WHERE trial_id IN (SELECT trial_id FROM trials WHERE study_id = ?1)",
                            "DELETE FROM trials WHERE study_id = ?1", "DELETE FROM study_user_attributes WHERE study_id = ?1",
                            "DELETE FROM study_system_attributes WHERE study_id = ?1", "DELETE FROM study_directions WHERE study_id = ?1",
                            "DELETE FROM studies WHERE study_id = ?1"}) {
        connection.run(sql, study_id);
    }
}

Trial insert_trial(Connection& connection, TimeZone zone, std::int64_t study_id, std::optional<Time> started) {
    Trial trial;
    trial.state = started ? TrialState::running : TrialState::waiting;
    trial.started = started;
    {
        Rows row = connection.query("SELECT number FROM trials WHERE study_id = ?1 ORDER BY trial_id DESC LIMIT 1", study_id);
        trial.number = row.next() ? row.integer(0) + 1 : 0;
    }
    connection.run("INSERT INTO trials (number, study_id, state, datetime_start) VALUES (?1, ?2, ?3, ?4)", trial.number, study_id,
                   hpo::to_text(trial.state), started ? std::optional{time_text(*started, zone)} : std::nullopt);
    trial.id = connection.last_id();
    return trial;
}

void write_params(Connection& connection, const Trial& trial) {
    connection.run("DELETE FROM trial_params WHERE trial_id = ?1", trial.id);
    for (const Param& param : trial.params) {
        connection.run("INSERT INTO trial_params (trial_id, param_name, param_value, distribution_json) VALUES (?1, ?2, ?3, ?4)", trial.id,
                       valid_utf8(param.name), param.internal, valid_utf8(distribution_text(*param.distribution)));
    }
}

void write_report(Connection& connection, std::int64_t trial_id, const Report& report) {
    const auto stored = optuna::stored_number(report.value);
    connection.run(
        "INSERT INTO trial_intermediate_values (trial_id, step, intermediate_value, intermediate_value_type) VALUES (?1, ?2, ?3, ?4) "
        "ON CONFLICT (trial_id, step) DO UPDATE SET intermediate_value = excluded.intermediate_value, "
        "intermediate_value_type = excluded.intermediate_value_type",
        trial_id, report.step, stored.number, stored.type);
}

void move_reports(Connection& connection, std::int64_t trial_id, int attempt, std::optional<std::int64_t> last_kept) {
    connection.run(
        "INSERT OR REPLACE INTO hpo_attempt_reports (trial_id, attempt, step, value) SELECT trial_id, ?2, step, CASE "
        "intermediate_value_type WHEN 'INF_POS' THEN 9e999 WHEN 'INF_NEG' THEN -9e999 ELSE intermediate_value END "
        "FROM trial_intermediate_values WHERE trial_id = ?1 AND (?3 IS NULL OR step > ?3)",
        trial_id, attempt, last_kept);
    connection.run("DELETE FROM trial_intermediate_values WHERE trial_id = ?1 AND (?2 IS NULL OR step > ?2)", trial_id, last_kept);
}

namespace {

void write_system_attribute(Connection& connection, std::string_view place, const Trial& trial, const std::string& key,
                            const std::string& json) {
    connection.run(
        "INSERT INTO trial_system_attributes (trial_id, \"key\", value_json) VALUES (?1, ?2, ?3) "
        "ON CONFLICT (trial_id, \"key\") DO UPDATE SET value_json = excluded.value_json",
        trial.id, valid_utf8(key), checked_json(place, key, json));
}

void write_constraints(Connection& connection, std::string_view place, const Trial& trial, ConstraintFormat format) {
    std::vector<double> listed;
    Constraints named = trial.constraints;
    if (format == ConstraintFormat::every_version) {
        for (const auto& [name, value] : named) listed.push_back(value);
    } else {
        for (auto next = named.find("0"); next != named.end(); next = named.find(std::to_string(listed.size()))) {
            listed.push_back(next->second);
            named.erase(next, std::next(next));
        }
    }
    for (const auto& [name, value] : named)
        write_system_attribute(connection, place, trial, std::string{constraint_prefix} + name, number_text(value));
    if (listed.empty()) return;
    std::string list;
    for (const double value : listed) list += (list.empty() ? "[" : ", ") + number_text(value);
    write_system_attribute(connection, place, trial, std::string{constraint_list}, list + "]");
}

}  // namespace

void write_attributes(Connection& connection, std::string_view place, const Trial& trial) {
    for (const auto& [key, json] : trial.user_attributes) {
        connection.run(
            "INSERT INTO trial_user_attributes (trial_id, \"key\", value_json) VALUES (?1, ?2, ?3) "
            "ON CONFLICT (trial_id, \"key\") DO UPDATE SET value_json = excluded.value_json",
            trial.id, valid_utf8(key), checked_json(place, key, json));
    }
    for (const auto& [key, json] : trial.system_attributes) write_system_attribute(connection, place, trial, key, json);
}

bool is_taken_over(Connection& connection, std::int64_t study_id, std::int64_t number) {
    Rows row = connection.query(
        "SELECT s.value_json FROM trial_system_attributes s JOIN trials t ON t.trial_id = s.trial_id WHERE t.study_id = ?1 AND "
        "s.\"key\" = ?2 AND NOT (t.state = 'FAIL' AND EXISTS (SELECT 1 FROM trial_user_attributes u WHERE u.trial_id = t.trial_id AND "
        "u.\"key\" = ?3 AND u.value_json = ?4) AND NOT EXISTS (SELECT 1 FROM hpo_attempts a WHERE a.trial_id = t.trial_id))",
        study_id, retry_history_attribute, lost_attribute, lost_json);
    while (row.next()) {
        const auto history = trial_numbers(row.text(0));
        if (std::find(history.begin(), history.end(), number) != history.end()) return true;
    }
    return false;
}

Trial insert_retry(Connection& connection, std::string_view place, TimeZone zone, std::int64_t study_id, std::optional<std::int64_t> run_id,
                   Trial retry) {
    const Trial begun = insert_trial(connection, zone, study_id, now());
    retry.id = begun.id;
    retry.number = begun.number;
    retry.state = begun.state;
    retry.started = begun.started;
    write_params(connection, retry);
    for (const auto& [step, value] : retry.intermediate) write_report(connection, retry.id, {.step = step, .value = value});
    write_attributes(connection, place, retry);
    connection.run("INSERT OR REPLACE INTO hpo_trials (trial_id, run_id) VALUES (?1, ?2)", retry.id, run_id);
    return retry;
}

void write_end(Connection& connection, std::string_view place, TimeZone zone, const Trial& trial, ConstraintFormat format) {
    connection.run("UPDATE trials SET state = ?2, datetime_complete = ?3 WHERE trial_id = ?1", trial.id, hpo::to_text(trial.state),
                   time_text(trial.completed.value_or(now()), zone));
    connection.run("DELETE FROM trial_values WHERE trial_id = ?1", trial.id);
    for (std::size_t i = 0; i < trial.values.size(); ++i) {
        const auto stored = optuna::stored_number(trial.values[i]);
        connection.run("INSERT INTO trial_values (trial_id, objective, value, value_type) VALUES (?1, ?2, ?3, ?4)", trial.id,
                       static_cast<int>(i), stored.number, stored.type);
    }
    write_attributes(connection, place, trial);
    write_constraints(connection, place, trial, format);
}

std::size_t objectives_of(Connection& connection, std::int64_t trial_id) {
    Rows row = connection.query("SELECT count(*) FROM study_directions WHERE study_id = (SELECT study_id FROM trials WHERE trial_id = ?1)",
                                trial_id);
    return row.next() ? static_cast<std::size_t>(row.integer(0)) : 0;
}

}  // namespace hpo::store
