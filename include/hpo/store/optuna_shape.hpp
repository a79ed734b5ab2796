// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <charconv>
#include <set>
#include <string>
#include <string_view>

#include "hpo/store/hpo_schema.hpp"
#include "hpo/store/optuna_schema.hpp"
#include "hpo/store/sqlite_connection.hpp"
#include "hpo/store/stored_time.hpp"

namespace hpo::store {

/// What a file holds: which of Optuna's revisions, what a peer added, and whether our tables are there.
struct OptunaShape {
    bool empty = false;           ///< no table at all
    std::string revision;         ///< alembic's; empty in files that Rustuna made
    std::string library_version;  ///< of the release that made or upgraded the file
    TimeZone zone = TimeZone::utc;
    bool has_objectives = true;          ///< study_directions and trial_values.objective (since v2.4.0.a)
    bool has_value_types = true;         ///< infinite objective values (since v3.0.0.d)
    bool has_intermediate_types = true;  ///< NaN and infinite intermediate values (since v3.0.0.c)
    bool has_trial_numbers = true;       ///< trials.number (since v1.3.0.a)
    bool has_discarded = false;          ///< Rustuna's trials.discarded_at, which hides a trial
    bool has_hpo_tables = false;

    /// True when we may add trials to the file as it is.
    [[nodiscard]] bool is_writable() const { return has_objectives && has_value_types && has_intermediate_types && has_trial_numbers; }
};

/// Looks at a file; throws Error{Errc::store_schema} for one that is not Optuna's or ours, or that is of a newer schema.
/// Belongs inside Connection::read or write.
[[nodiscard]] inline OptunaShape read_shape(Connection& connection) {
    const auto refuse = [&](const std::string& what) { throw Error{Errc::store_schema, connection.place() + what}; };
    const auto first_text = [&](const char* sql) {
        Rows row = connection.query(sql);
        return row.next() ? row.text(0) : std::string{};
    };
    OptunaShape shape;
    std::set<std::string, std::less<>> names;
    {
        Rows row = connection.query("SELECT name FROM sqlite_master WHERE type = 'table'");
        while (row.next()) names.insert(row.text(0));
    }
    if (names.empty()) {
        shape.empty = true;
        return shape;
    }
    if (!names.contains("studies") || !names.contains("trials") || !names.contains("version_info")) {
        refuse("is an SQLite database of another program; expected one written by hpo or Optuna");
    }
    shape.library_version = first_text("SELECT library_version FROM version_info");
    if (names.contains("alembic_version")) shape.revision = first_text("SELECT version_num FROM alembic_version");
    {
        Rows row = connection.query("SELECT max(schema_version) FROM version_info");
        if (row.next() && row.integer(0) > optuna::schema_version) {
            refuse("has Optuna's schema " + std::to_string(row.integer(0)) + ", which is newer than " +
                   std::to_string(optuna::schema_version) + ", the newest that this version of hpo knows");
        }
    }
    if (!shape.revision.empty() &&
        std::find(optuna::revisions.begin(), optuna::revisions.end(), shape.revision) == optuna::revisions.end()) {
        refuse("has Optuna's revision " + shape.revision + ", which is newer than " + std::string{optuna::revision} +
               ", the newest that this version of hpo knows");
    }
    int major = 0;
    std::from_chars(shape.library_version.data(), shape.library_version.data() + shape.library_version.size(), major);
    shape.zone = major >= 5 ? TimeZone::utc : TimeZone::local;

    const auto columns = [&](const char* sql) {
        std::set<std::string, std::less<>> found;
        Rows row = connection.query(sql);
        while (row.next()) found.insert(row.text(0));
        return found;
    };
    const auto trials = columns("SELECT name FROM pragma_table_info('trials')");
    const auto values = columns("SELECT name FROM pragma_table_info('trial_values')");
    const auto intermediate = columns("SELECT name FROM pragma_table_info('trial_intermediate_values')");
    shape.has_objectives = names.contains("study_directions") && values.contains("objective");
    shape.has_value_types = values.contains("value_type");
    shape.has_intermediate_types = intermediate.contains("intermediate_value_type");
    shape.has_trial_numbers = trials.contains("number");
    shape.has_discarded = trials.contains("discarded_at");

    shape.has_hpo_tables = names.contains("hpo_meta");
    if (shape.has_hpo_tables) {
        const std::string version = first_text("SELECT value FROM hpo_meta WHERE key = 'schema_version'");
        int number = 0;
        const auto [end, status] = std::from_chars(version.data(), version.data() + version.size(), number);
        if (status != std::errc{} || number < 1) refuse("has no readable schema version in hpo_meta, but '" + version + "'");
        if (number > hpo_schema_version) {
            refuse("has schema " + version + " of the hpo tables, which is newer than " + std::to_string(hpo_schema_version) +
                   ", the newest that this version of hpo knows");
        }
    }
    return shape;
}

}  // namespace hpo::store
