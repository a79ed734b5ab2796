// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hpo/store/sqlite/connection.hpp"

namespace hpo::store {

/// Sets a study's system attribute, new or in place of the one that is there.
inline void write_study_system_attribute(Connection& connection, std::int64_t study_id, const std::string& key, const std::string& json) {
    connection.run(
        "INSERT INTO study_system_attributes (study_id, \"key\", value_json) VALUES (?1, ?2, ?3) "
        "ON CONFLICT (study_id, \"key\") DO UPDATE SET value_json = excluded.value_json",
        study_id, key, json);
}

/// Replaces a study's system attribute if it still is `expected`, in one step. A nullopt `expected` means that there is no such attribute.
/// Returns false and changes nothing if it is something else.
[[nodiscard]] inline bool replace_study_system_attribute(Connection& connection, std::int64_t study_id, const std::string& key,
                                                         const std::optional<std::string>& expected, const std::string& json) {
    return connection.write([&] {
        std::optional<std::string> present;
        {
            Rows row =
                connection.query("SELECT value_json FROM study_system_attributes WHERE study_id = ?1 AND \"key\" = ?2", study_id, key);
            if (row.next()) present = row.text(0);
        }
        if (present != expected) return false;
        write_study_system_attribute(connection, study_id, key, json);
        return true;
    });
}

}  // namespace hpo::store
