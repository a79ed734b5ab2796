// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "hpo/store/sqlite_connection.hpp"

namespace hpo::store {

/// The tables, indices and triggers of ours that a file has, and the columns of the tables, in their order.
struct HpoLayout {
    struct Object {
        std::string type;  ///< "table", "index", "trigger"
        std::string name;
        std::string sql;
    };
    struct Column {
        std::string table;
        std::string name;
        std::string type;
        bool required = false;  ///< NOT NULL, or part of the key
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

namespace detail {

inline constexpr const char* hpo_objects_query =
    "SELECT type, name, sql FROM main.sqlite_master WHERE sql IS NOT NULL AND (name LIKE 'hpo\\_%' ESCAPE '\\' OR name LIKE "
    "'ix\\_hpo\\_%' ESCAPE '\\') ORDER BY rowid";
inline constexpr const char* hpo_columns_query =
    "SELECT m.name, c.name, c.type, c.\"notnull\" OR c.pk FROM main.sqlite_master m JOIN pragma_table_info(m.name, 'main') c "
    "WHERE m.type = 'table' AND m.name LIKE 'hpo\\_%' ESCAPE '\\' ORDER BY m.rowid, c.cid";

[[nodiscard]] HpoLayout layout_of(Rows objects, Rows columns);

/// True when a trigger does at least what `ours` does: each of our lines stands in it. A later version's, which also clears
/// tables that we do not know, is kept.
[[nodiscard]] bool covers(const std::string& theirs, const std::string& ours);

}  // namespace detail

/// What the file has. Belongs inside Connection::read or write.
[[nodiscard]] inline HpoLayout read_layout(Connection& connection) {
    return detail::layout_of(connection.query(detail::hpo_objects_query), connection.query(detail::hpo_columns_query));
}

/// What this version makes, as SQLite itself understands hpo_tables and plan_columns_sql.
[[nodiscard]] const HpoLayout& known_layout();

/// True when the file has everything that this version makes; it may have more.
[[nodiscard]] bool is_complete(const HpoLayout& layout);

/// Adds what the file lacks: tables, nullable columns, indices, triggers; a trigger that does less than ours is replaced, and
/// what it left behind is removed. Belongs inside Connection::write. Throws Error{Errc::store_schema} for a table without a
/// column that every version has written.
void complete_layout(Connection& connection);

/// Lets the file's tables be read as if they had every column and table that this version knows, with NULL in the missing ones and
/// no row in missing tables: temporary views stand before them, and the file stays as it is.
/// Design note: SQLite looks for a name among temporary things first, so that no query needs to know.
void bridge_missing(Connection& connection);

}  // namespace hpo::store

#ifndef HPO_COMPILED
#include "hpo/store/impl/hpo_layout_inl.hpp"
#endif
