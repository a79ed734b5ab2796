// SPDX-License-Identifier: MIT
#include "store/sqlite/stored_logs.hpp"

#include <cstdint>
#include <string>

#include "hpo/store/json_text.hpp"

namespace hpo::store {

void write_log(Connection& connection, std::int64_t trial_id, int attempt, const std::string& text) {
    connection.run("INSERT OR REPLACE INTO hpo_logs (trial_id, attempt, text) VALUES (?1, ?2, ?3)", trial_id, attempt, valid_utf8(text));
}

}  // namespace hpo::store
