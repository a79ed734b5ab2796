// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "hpo/base/inline.hpp"
#include "hpo/store/json_text.hpp"
#include "hpo/store/sqlite/stored_logs.hpp"

namespace hpo::store::inline sqlite {

HPO_INLINE void write_log(Connection& connection, std::int64_t trial_id, int attempt, const std::string& text) {
    connection.run("INSERT OR REPLACE INTO hpo_logs (trial_id, attempt, text) VALUES (?1, ?2, ?3)", trial_id, attempt, valid_utf8(text));
}

}  // namespace hpo::store::sqlite
