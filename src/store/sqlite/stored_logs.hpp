// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "hpo/store/sqlite/connection.hpp"

namespace hpo::store {

// The logs of attempts, as rows of hpo_logs. They are not in hpo_attempts, because a log is long and only one is read at a time.

void write_log(Connection& connection, std::int64_t trial_id, int attempt, const std::string& text);
/// The log of an attempt. Empty if none is kept.
[[nodiscard]] inline std::string read_log(Connection& connection, std::int64_t trial_id, int attempt) {
    Rows row = connection.query("SELECT text FROM hpo_logs WHERE trial_id = ?1 AND attempt = ?2", trial_id, attempt);
    return row.next() ? row.text(0) : std::string{};
}

}  // namespace hpo::store
