// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hpo/store/sqlite/connection.hpp"
#include "hpo/store/store.hpp"

namespace hpo::store {

// Runs as rows of hpo_runs. Call all that write inside Connection::write.

/// Returns the run's id.
[[nodiscard]] std::int64_t insert_run(Connection& connection, std::int64_t study_id, const Run& run);
void write_heartbeat(Connection& connection, const Run& run);
void write_run_end(Connection& connection, const Run& run);
/// Run::configuration of the study's latest run. Returns nullopt if it has had none. Call it inside Connection::read.
[[nodiscard]] std::optional<std::string> latest_configuration(Connection& connection, std::int64_t study_id);

}  // namespace hpo::store
