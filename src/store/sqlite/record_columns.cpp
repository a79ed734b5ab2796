// SPDX-License-Identifier: MIT
#include "store/sqlite/record_columns.hpp"

#include <algorithm>
#include <cstddef>

#include "hpo/base/error.hpp"

namespace hpo::store {

std::string RecordTable::definition() const {
    std::string text;
    for (const std::string& key : keys) text += (text.empty() ? "" : ", ") + key + " INTEGER NOT NULL";
    for (const RecordColumn& column : columns)
        text += ", " + column.name + " " + std::string{column.type} + (column.is_always_known ? " NOT NULL" : "");
    return text;
}

std::string RecordTable::names() const {
    std::vector<std::string> all = keys;
    for (const RecordColumn& column : columns) all.push_back(column.name);
    return join_names(all);
}

std::string RecordTable::places() const {
    std::vector<std::string> all;
    for (std::size_t i = 1; i <= keys.size() + columns.size(); ++i) all.push_back("?" + std::to_string(i));
    return join_names(all);
}

std::string RecordTable::insert() const { return "INSERT INTO " + name + " (" + names() + ") VALUES (" + places() + ")"; }

std::string RecordTable::updates() const {
    std::string text;
    for (const RecordColumn& column : columns) text += (text.empty() ? "" : ", ") + column.name + " = excluded." + column.name;
    return text;
}

std::string RecordTable::selection(const Connection& connection, std::string_view alias,
                                   std::optional<std::vector<std::string_view>> wanted) const {
    const std::string before = std::string{alias} + ".";
    std::string text;
    for (const std::string& key : keys) text += (text.empty() ? "" : ", ") + before + key;
    for (const RecordColumn& column : columns) {
        const bool is_wanted = !wanted || std::ranges::find(*wanted, column.name) != wanted->end();
        text += is_wanted && !connection.lacks(name, column.name) ? ", " + before + column.name : ", NULL";
    }
    return text;
}

const RecordTable& attempts_table() {
    static const RecordTable table{"hpo_attempts", {"trial_id"}, columns_of<Attempt>()};
    return table;
}
const RecordTable& failures_table() {
    static const RecordTable table{"hpo_failures", {"trial_id", "attempt"}, columns_of<Failure>()};
    return table;
}
const RecordTable& memory_table() {
    static const RecordTable table{"hpo_memory", {"trial_id", "attempt"}, columns_of<MemoryMark>()};
    return table;
}
const RecordTable& rejections_table() {
    static const RecordTable table{"hpo_rejections", {"study_id"}, columns_of<Rejection>()};
    return table;
}
const RecordTable& runs_table() {
    static const RecordTable table{"hpo_runs", {"study_id"}, columns_of<Run>()};
    return table;
}

}  // namespace hpo::store
