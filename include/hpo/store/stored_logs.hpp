// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "hpo/store/sqlite_connection.hpp"

namespace hpo::store {

// What attempts wrote, as rows of hpo_logs: apart from hpo_attempts, since a log is long and read one at a time.

void write_log(Connection& connection, std::int64_t trial_id, int attempt, const std::string& text);
/// Empty: none is kept.
[[nodiscard]] inline std::string read_log(Connection& connection, std::int64_t trial_id, int attempt) {
    Rows row = connection.query("SELECT text FROM hpo_logs WHERE trial_id = ?1 AND attempt = ?2", trial_id, attempt);
    return row.next() ? row.text(0) : std::string{};
}

}  // namespace hpo::store

#ifndef HPO_COMPILED
#include "hpo/store/impl/stored_logs_inl.hpp"
#endif
