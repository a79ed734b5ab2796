// SPDX-License-Identifier: MIT
#include "hpo/store/sqlite/hpo_layout.hpp"

#include <SQLiteCpp/Database.h>
#include <SQLiteCpp/Statement.h>
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

#include "hpo/store/sqlite/optuna_schema.hpp"
#include "store/sqlite/hpo_schema.hpp"
#include "store/sqlite/plan_columns.hpp"

namespace hpo::store::detail {

HpoLayout layout_of(Rows objects, Rows columns) {
    HpoLayout layout;
    while (objects.next()) layout.objects.push_back({objects.text(0), objects.text(1), objects.text(2)});
    while (columns.next()) layout.columns.push_back({columns.text(0), columns.text(1)});
    return layout;
}

bool covers(const std::string& theirs, const std::string& ours) {
    for (std::size_t begin = 0, end = 0; begin < ours.size(); begin = end + 1) {
        end = std::min(ours.find('\n', begin), ours.size());
        if (theirs.find(ours.substr(begin, end - begin)) == std::string::npos) return false;
    }
    return true;
}

/// True if the layout has this table, index or trigger.
bool has(const HpoLayout& layout, const HpoLayout::Object& ours) {
    const HpoLayout::Object* const theirs = layout.object(ours.name);
    return theirs && (ours.type != "trigger" || covers(theirs->sql, ours.sql));
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

std::optional<std::string> missing_part(const HpoLayout& layout) {
    const HpoLayout& known = known_layout();
    for (const HpoLayout::Object& table : known.objects) {
        if (table.type == "table" && !layout.object(table.name)) return "table " + table.name;
    }
    for (const HpoLayout::Column& column : known.columns) {
        if (!layout.has(column)) return "column " + column.table + "." + column.name;
    }
    return std::nullopt;
}

bool has_triggers(const HpoLayout& layout) {
    return std::ranges::all_of(known_layout().objects, [&](const HpoLayout::Object& ours) { return detail::has(layout, ours); });
}

void complete_layout(Connection& connection) {
    const HpoLayout found = read_layout(connection);
    if (found.objects.empty()) {
        connection.script(hpo_tables);
        connection.script(plan_columns_sql().c_str());
        return;
    }
    bool lacked_trigger = false;
    for (const HpoLayout::Object& ours : known_layout().objects) {
        if (detail::has(found, ours)) continue;
        if (found.object(ours.name)) connection.script(("DROP TRIGGER " + ours.name).c_str());
        connection.script(ours.sql.c_str());
        lacked_trigger = lacked_trigger || ours.type == "trigger";
    }
    if (lacked_trigger) connection.script(hpo_orphan_removal);
}

}  // namespace hpo::store
