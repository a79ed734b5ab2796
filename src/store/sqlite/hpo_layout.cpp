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
#include "store/sqlite/record_columns.hpp"

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
namespace {

/// Makes all tables that hpo has beside Optuna's.
std::string tables_sql() {
    const auto table = [](const RecordTable& of, const std::string& before, const std::string& behind) {
        return "CREATE TABLE IF NOT EXISTS " + of.name + " (" + before + of.definition() + behind + ");\n";
    };
    const std::string by_attempt = ", PRIMARY KEY (trial_id, attempt)";
    return table(attempts_table(), "", by_attempt) + table(failures_table(), "", by_attempt) +
           table(memory_table(), "mark_id INTEGER NOT NULL PRIMARY KEY, ", "") +
           table(rejections_table(), "rejection_id INTEGER NOT NULL PRIMARY KEY, ", "") +
           table(runs_table(), "", ", PRIMARY KEY (run_id)") + hpo_other_tables;
}

}  // namespace

const HpoLayout& known_layout() {
    static const HpoLayout known = [] {
        SQLite::Database memory{":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE};
        memory.exec(optuna::tables);  // the triggers need them
        memory.exec(tables_sql());
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
    const std::vector<HpoLayout::Column> absent = absent_columns(layout);
    for (const HpoLayout::Column& column : known.columns) {
        if (!layout.has(column) && std::ranges::find(absent, column) == absent.end()) return "column " + column.table + "." + column.name;
    }
    return std::nullopt;
}

std::vector<HpoLayout::Column> absent_columns(const HpoLayout& layout) {
    std::vector<HpoLayout::Column> absent;
    for (const RecordTable* const table : record_tables()) {
        for (const RecordColumn& column : table->columns) {
            const HpoLayout::Column later{table->name, column.name};
            if (!column.since.empty() && !layout.has(later)) absent.push_back(later);
        }
    }
    return absent;
}

bool has_triggers(const HpoLayout& layout) {
    return std::ranges::all_of(known_layout().objects, [&](const HpoLayout::Object& ours) { return detail::has(layout, ours); });
}

void complete_layout(Connection& connection) {
    const HpoLayout found = read_layout(connection);
    if (found.objects.empty()) {
        connection.script(tables_sql().c_str());
        return;
    }
    for (const RecordTable* const table : record_tables()) {
        for (const RecordColumn& column : table->columns) {
            if (column.since.empty() || found.has({table->name, column.name})) continue;
            connection.script(("ALTER TABLE " + table->name + " ADD COLUMN " + column.name + " " + std::string{column.type}).c_str());
        }
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
