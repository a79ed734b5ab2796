// SPDX-License-Identifier: MIT
#include "hpo/store/sqlite/run_rows.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hpo/store/json_text.hpp"
#include "hpo/store/sqlite/stored_time.hpp"
#include "store/sqlite/record_columns.hpp"

namespace hpo::store {

void insert_run(Connection& connection, std::int64_t study_id, Run& run) {
    {
        Rows row = connection.query("SELECT coalesce(max(run_id), 0) + 1 FROM hpo_runs");
        row.next();
        run.id = row.integer(0);
    }
    run.started = run.heartbeat = now();
    static const std::string sql = runs_table().insert();
    connection.run_bound(sql.c_str(), [&](StatementBinder& bind) {
        bind(study_id);
        bind_columns(&run, bind);
    });
}

std::vector<Run> read_runs(Connection& connection, std::int64_t study_id) {
    std::vector<Run> runs;
    Rows row = connection.query(
        connection.kept("SELECT " + runs_table().selection(connection, "r") + " FROM hpo_runs r WHERE r.study_id = ?1 ORDER BY r.run_id"),
        study_id);
    while (row.next()) RecordReader{row, 1}.read(runs.emplace_back());
    return runs;
}

void write_heartbeat(Connection& connection, const Run& run) {
    connection.run("UPDATE hpo_runs SET heartbeat_at = ?2 WHERE run_id = ?1", run.id, time_text(now()));
}

std::optional<std::string> latest_configuration(Connection& connection, std::int64_t study_id) {
    Rows row = connection.query("SELECT configuration FROM hpo_runs WHERE study_id = ?1 ORDER BY run_id DESC LIMIT 1", study_id);
    return row.next() ? row.maybe_text(0) : std::nullopt;
}

void write_run_end(Connection& connection, const Run& run) {
    connection.run("UPDATE hpo_runs SET heartbeat_at = ?2, ended_at = ?2 WHERE run_id = ?1", run.id, time_text(now()));
}

}  // namespace hpo::store
