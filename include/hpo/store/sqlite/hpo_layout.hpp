// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "hpo/store/sqlite/connection.hpp"

namespace hpo::store {

/// Our tables, indices and triggers in a file, and the columns of the tables, in their order.
struct HpoLayout {
    struct Object {
        std::string type;  ///< "table", "index", "trigger"
        std::string name;
        std::string sql;
    };
    struct Column {
        std::string table;
        std::string name;
        friend bool operator==(const Column&, const Column&) = default;
    };
    std::vector<Object> objects;
    std::vector<Column> columns;

    [[nodiscard]] const Object* object(const std::string& name) const {
        const auto found = std::find_if(objects.begin(), objects.end(), [&](const Object& each) { return each.name == name; });
        return found == objects.end() ? nullptr : &*found;
    }
    [[nodiscard]] bool has(const Column& column) const {
        return std::any_of(columns.begin(), columns.end(),
                           [&](const Column& each) { return each.table == column.table && each.name == column.name; });
    }
};

}  // namespace hpo::store

namespace hpo::store::detail {

inline constexpr const char* hpo_objects_query =
    "SELECT type, name, sql FROM main.sqlite_master WHERE sql IS NOT NULL AND (name LIKE 'hpo\\_%' ESCAPE '\\' OR name LIKE "
    "'ix\\_hpo\\_%' ESCAPE '\\') ORDER BY rowid";
inline constexpr const char* hpo_columns_query =
    "SELECT m.name, c.name FROM main.sqlite_master m JOIN pragma_table_info(m.name, 'main') c "
    "WHERE m.type = 'table' AND m.name LIKE 'hpo\\_%' ESCAPE '\\' ORDER BY m.rowid, c.cid";

[[nodiscard]] HpoLayout layout_of(Rows objects, Rows columns);

/// True if a trigger does at least as much as `ours`: it has each line of ours. So a later version's trigger is kept, which also clears
/// tables that this version does not know.
[[nodiscard]] bool covers(const std::string& theirs, const std::string& ours);

}  // namespace hpo::store::detail

namespace hpo::store {

/// What the file has. Call it inside Connection::read or write.
[[nodiscard]] inline HpoLayout read_layout(Connection& connection) {
    return detail::layout_of(connection.query(detail::hpo_objects_query), connection.query(detail::hpo_columns_query));
}

/// What this version makes, as SQLite itself understands it.
[[nodiscard]] const HpoLayout& known_layout();

/// The first table or column that the file lacks and every version makes: "column hpo_attempts.decision". It may have more than this
/// version makes.
[[nodiscard]] std::optional<std::string> missing_part(const HpoLayout& layout);

/// The columns of this version that came later than their table and that the file lacks. What was not stored in them is NULL.
[[nodiscard]] std::vector<HpoLayout::Column> absent_columns(const HpoLayout& layout);

/// True if the file, which lacks no table or column, also has the indices and triggers that this version makes.
[[nodiscard]] bool has_triggers(const HpoLayout& layout);

/// Makes our tables in a file that has none. In a file that has them, it adds the absent columns, and makes the indices and triggers that
/// were lost, as when another program copied a table. If a trigger does less than ours, it is replaced, and the rows that it left behind
/// are removed. Call it inside Connection::write, after read_shape.
void complete_layout(Connection& connection);

}  // namespace hpo::store
