// SPDX-License-Identifier: MIT
#include "hpo/store/sqlite/run_rows.hpp"

#include <cstdint>
#include <optional>
#include <string>

#include "hpo/store/json_text.hpp"
#include "hpo/store/sqlite/stored_time.hpp"

namespace hpo::store {

std::int64_t insert_run(Connection& connection, std::int64_t study_id, const Run& run) {
    connection.run(
        "INSERT INTO hpo_runs (study_id, host, pid, started_ticks, configuration, started_at, heartbeat_at) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)",
        study_id, run.host, run.pid, run.started_ticks, valid_utf8(run.configuration), time_text(now()));
    return connection.last_id();
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
