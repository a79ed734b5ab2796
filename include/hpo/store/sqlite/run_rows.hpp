// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hpo/store/sqlite/connection.hpp"
#include "hpo/store/store.hpp"

namespace hpo::store {

// Runs as rows of hpo_runs. Call all that write inside Connection::write.

/// Sets the run's id, and the time as its start and its first sign of life.
void insert_run(Connection& connection, std::int64_t study_id, Run& run);
/// The runs of a study, the oldest first. Call it inside Connection::read.
[[nodiscard]] std::vector<Run> read_runs(Connection& connection, std::int64_t study_id);
void write_heartbeat(Connection& connection, const Run& run);
void write_run_end(Connection& connection, const Run& run);
/// Run::configuration of the study's latest run. Returns nullopt if it has had none. Call it inside Connection::read.
[[nodiscard]] std::optional<std::string> latest_configuration(Connection& connection, std::int64_t study_id);

}  // namespace hpo::store
