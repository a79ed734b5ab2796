// SPDX-License-Identifier: MIT
#include "hpo/store/lost_trials.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "hpo/store/sqlite/attempt_rows.hpp"
#include "hpo/store/store_rules.hpp"
#include "store/sqlite/record_columns.hpp"

namespace hpo::store {

std::map<std::int64_t, BusyRun> busy_runs(Connection& connection, std::int64_t study_id, std::int64_t after_trial_id) {
    std::map<std::int64_t, BusyRun> runs;
    const std::vector<std::string_view> without_configuration{"run_id",     "host",         "pid",     "started_ticks",
                                                              "started_at", "heartbeat_at", "ended_at"};
    Rows row = connection.query(
        connection.kept("SELECT t.trial_id, h.run_id, " + runs_table().selection(connection, "r", without_configuration) +
                        " FROM trials t JOIN hpo_trials h ON h.trial_id = t.trial_id JOIN hpo_runs r ON r.run_id = h.run_id "
                        "WHERE t.study_id = ?1 AND t.trial_id > ?2 AND t.state = 'RUNNING'"),
        study_id, after_trial_id);
    while (row.next()) {
        const auto [busy, is_new] = runs.try_emplace(row.integer(1));
        if (is_new) RecordReader{row, 3}.read(busy->second.run);
        busy->second.trial_ids.push_back(row.integer(0));
    }
    return runs;
}

void settle_lost_trial(Connection& connection, TimeZone zone, std::int64_t trial_id, const Run& run) {
    std::optional<Time> started;
    {
        Rows row = connection.query("SELECT datetime_start FROM trials WHERE trial_id = ?1", trial_id);
        if (row.next() && !row.is_null(0)) started = parse_time(row.text(0), zone);
    }
    connection.run("UPDATE trials SET state = 'FAIL', datetime_complete = ?2 WHERE trial_id = ?1", trial_id,
                   time_text(end_of_lost(started, run.heartbeat), zone));
    connection.run(
        "INSERT INTO trial_user_attributes (trial_id, \"key\", value_json) VALUES (?1, ?2, ?3) "
        "ON CONFLICT (trial_id, \"key\") DO UPDATE SET value_json = excluded.value_json",
        trial_id, lost_attribute, lost_json);
    std::vector<int> unfinished;
    {
        Rows row = connection.query("SELECT attempt FROM hpo_attempts WHERE trial_id = ?1 AND outcome IS NULL", trial_id);
        while (row.next()) unfinished.push_back(static_cast<int>(row.integer(0)));
    }
    for (const int attempt : unfinished) write_failure(connection, trial_id, attempt, lost_failure(run));
    connection.run("UPDATE hpo_attempts SET outcome = 'interrupted' WHERE trial_id = ?1 AND outcome IS NULL", trial_id);
}

std::vector<std::int64_t> settle_lost(Connection& connection, TimeZone zone, std::int64_t study_id, double grace_seconds, RunWatch& watch) {
    std::vector<std::int64_t> settled;
    for (const auto& [run_id, busy] : busy_runs(connection, study_id)) {
        if (!watch.is_gone(busy.run, grace_seconds)) continue;
        connection.run("UPDATE hpo_runs SET ended_at = coalesce(ended_at, ?2) WHERE run_id = ?1", run_id, time_text(now()));
        for (const std::int64_t trial_id : busy.trial_ids) {
            settle_lost_trial(connection, zone, trial_id, busy.run);
            settled.push_back(trial_id);
        }
    }
    return settled;
}

}  // namespace hpo::store
