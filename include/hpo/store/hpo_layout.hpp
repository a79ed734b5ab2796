// SPDX-License-Identifier: MIT
#pragma once

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "hpo/store/hpo_schema.hpp"
#include "hpo/store/optuna_schema.hpp"
#include "hpo/store/plan_columns.hpp"
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

[[nodiscard]] inline HpoLayout layout_of(Rows objects, Rows columns) {
    HpoLayout layout;
    while (objects.next()) layout.objects.push_back({objects.text(0), objects.text(1), objects.text(2)});
    while (columns.next()) layout.columns.push_back({columns.text(0), columns.text(1), columns.text(2), columns.integer(3) != 0});
    return layout;
}

/// True when a trigger does at least what `ours` does: each of our lines stands in it. A later version's, which also clears
/// tables that we do not know, is kept.
[[nodiscard]] inline bool covers(const std::string& theirs, const std::string& ours) {
    for (std::size_t begin = 0, end = 0; begin < ours.size(); begin = end + 1) {
        end = std::min(ours.find('\n', begin), ours.size());
        if (theirs.find(ours.substr(begin, end - begin)) == std::string::npos) return false;
    }
    return true;
}

}  // namespace detail

/// What the file has. Belongs inside Connection::read or write.
[[nodiscard]] inline HpoLayout read_layout(Connection& connection) {
    return detail::layout_of(connection.query(detail::hpo_objects_query), connection.query(detail::hpo_columns_query));
}

/// What this version makes, as SQLite itself understands hpo_tables and plan_columns_sql.
[[nodiscard]] inline const HpoLayout& known_layout() {
    static const HpoLayout known = [] {
        SQLite::Database memory{":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE};
        memory.exec(optuna::tables);  // the triggers stand on them
        memory.exec(hpo_tables);
        memory.exec(plan_columns_sql());
        SQLite::Statement objects{memory, detail::hpo_objects_query};
        SQLite::Statement columns{memory, detail::hpo_columns_query};
        return detail::layout_of(Rows{objects}, Rows{columns});
    }();
    return known;
}

/// True when the file has everything that this version makes; it may have more.
[[nodiscard]] inline bool is_complete(const HpoLayout& layout) {
    const HpoLayout& known = known_layout();
    return std::all_of(known.columns.begin(), known.columns.end(), [&](const auto& column) { return layout.has(column); }) &&
           std::all_of(known.objects.begin(), known.objects.end(), [&](const HpoLayout::Object& ours) {
               const HpoLayout::Object* theirs = layout.object(ours.name);
               return theirs && (ours.type != "trigger" || detail::covers(theirs->sql, ours.sql));
           });
}

/// Adds what the file lacks: tables, nullable columns, indices, triggers; a trigger that does less than ours is replaced, and
/// what it left behind is removed. Belongs inside Connection::write. Throws Error{Errc::store_schema} for a table without a
/// column that every version has written.
inline void complete_layout(Connection& connection) {
    const HpoLayout found = read_layout(connection);
    const HpoLayout& known = known_layout();
    const auto create = [&](const char* type) {
        bool created = false;
        for (const HpoLayout::Object& ours : known.objects) {
            if (ours.type != type) continue;
            const HpoLayout::Object* theirs = found.object(ours.name);
            if (theirs && (ours.type != "trigger" || detail::covers(theirs->sql, ours.sql))) continue;
            if (theirs) connection.script(("DROP TRIGGER " + ours.name).c_str());
            connection.script(ours.sql.c_str());
            created = true;
        }
        return created;
    };
    create("table");
    for (const HpoLayout::Column& column : known.columns) {
        if (!found.object(column.table) || found.has(column)) continue;
        if (column.required) {
            throw Error{Errc::store_schema, connection.place() + "has no column " + column.table + "." + column.name +
                                                ", which every version of hpo writes; restore the file from a copy"};
        }
        connection.script(("ALTER TABLE " + column.table + " ADD COLUMN " + column.name + " " + column.type).c_str());
    }
    create("index");
    if (create("trigger")) connection.script(hpo_orphan_removal);
}

/// Lets the file's tables be read as if they had every column and table that this version knows, with NULL in the missing ones and
/// no row in missing tables: temporary views stand before them, and the file stays as it is.
/// Design note: SQLite looks for a name among temporary things first, so that no query needs to know.
inline void bridge_missing(Connection& connection) {
    const HpoLayout found = read_layout(connection);
    const HpoLayout& known = known_layout();
    for (const HpoLayout::Object& table : known.objects) {
        if (table.type != "table") continue;
        const bool is_there = found.object(table.name) != nullptr;
        bool is_whole = is_there;
        std::string columns;
        for (const HpoLayout::Column& column : known.columns) {
            if (column.table != table.name) continue;
            is_whole = is_whole && found.has(column);
            columns += (columns.empty() ? "" : ", ") + (found.has(column) ? column.name : "NULL AS " + column.name);
        }
        if (is_whole) continue;
        const std::string source = is_there ? " FROM main." + table.name : " WHERE 0";
        connection.script(("CREATE TEMP VIEW " + table.name + " AS SELECT " + columns + source).c_str());
    }
}

}  // namespace hpo::store
