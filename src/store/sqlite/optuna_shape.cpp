// SPDX-License-Identifier: MIT
#include "hpo/store/sqlite/optuna_shape.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <set>
#include <string>
#include <system_error>

#include "hpo/store/sqlite/hpo_layout.hpp"
#include "store/sqlite/hpo_schema.hpp"

namespace hpo::store {

OptunaShape read_shape(Connection& connection) {
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
        refuse("is an SQLite database of another program; expected one written by hpo or Optuna, or a new file");
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
        const HpoLayout layout = read_layout(connection);
        if (const auto missing = missing_part(layout)) {
            refuse("has no " + *missing + ", so hpo's tables in it are not this version's; use the version that made the file");
        }
        std::set<std::string> absent;
        for (const HpoLayout::Column& column : absent_columns(layout)) absent.insert(column.table + "." + column.name);
        shape.is_hpo_complete = absent.empty() && has_triggers(layout);
        connection.set_absent(std::move(absent));
    }
    return shape;
}

}  // namespace hpo::store
