// SPDX-License-Identifier: MIT
#include "hpo/store/sqlite/hpo_layout.hpp"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <algorithm>
#include <cstddef>
#include <string>

#include "hpo/store/sqlite/optuna_schema.hpp"
#include "store/sqlite/hpo_schema.hpp"
#include "store/sqlite/plan_columns.hpp"

namespace hpo::store::detail {

HpoLayout layout_of(Rows objects, Rows columns) {
    HpoLayout layout;
    while (objects.next()) layout.objects.push_back({objects.text(0), objects.text(1), objects.text(2)});
    while (columns.next()) layout.columns.push_back({columns.text(0), columns.text(1), columns.text(2), columns.integer(3) != 0});
    return layout;
}

bool covers(const std::string& theirs, const std::string& ours) {
    for (std::size_t begin = 0, end = 0; begin < ours.size(); begin = end + 1) {
        end = std::min(ours.find('\n', begin), ours.size());
        if (theirs.find(ours.substr(begin, end - begin)) == std::string::npos) return false;
    }
    return true;
}

}  // namespace hpo::store::detail

namespace hpo::store {

const HpoLayout& known_layout() {
    static const HpoLayout known = [] {
        SQLite::Database memory{":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE};
        memory.exec(optuna::tables);  // the triggers need them
        memory.exec(hpo_tables);
        memory.exec(plan_columns_sql());
        SQLite::Statement objects{memory, detail::hpo_objects_query};
        SQLite::Statement columns{memory, detail::hpo_columns_query};
        return detail::layout_of(Rows{objects}, Rows{columns});
    }();
    return known;
}

bool is_complete(const HpoLayout& layout) {
    const HpoLayout& known = known_layout();
    return std::all_of(known.columns.begin(), known.columns.end(), [&](const auto& column) { return layout.has(column); }) &&
           std::all_of(known.objects.begin(), known.objects.end(), [&](const HpoLayout::Object& ours) {
               const HpoLayout::Object* theirs = layout.object(ours.name);
               return theirs && (ours.type != "trigger" || detail::covers(theirs->sql, ours.sql));
           });
}

void complete_layout(Connection& connection) {
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

void bridge_missing(Connection& connection) {
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
