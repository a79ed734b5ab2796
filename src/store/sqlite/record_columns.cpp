// SPDX-License-Identifier: MIT
#include "store/sqlite/record_columns.hpp"

#include <algorithm>
#include <cstddef>

#include "hpo/base/error.hpp"

namespace hpo::store {
namespace {

std::vector<std::string> all_columns(const RecordTable& table) {
    std::vector<std::string> names = table.keys;
    for (const RecordColumn& column : table.columns) names.push_back(column.name);
    return names;
}

}  // namespace

std::string RecordTable::definition() const {
    std::string text;
    for (const std::string& key : keys) text += (text.empty() ? "" : ", ") + key + " INTEGER NOT NULL";
    for (const RecordColumn& column : columns)
        text += ", " + column.name + " " + std::string{column.type} + (column.is_always_known ? " NOT NULL" : "");
    return text;
}

std::string RecordTable::insert() const {
    std::vector<std::string> names = all_columns(*this);
    const std::string list = join_names(names);
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = "?" + std::to_string(i + 1);
    return "INSERT INTO " + name + " (" + list + ") VALUES (" + join_names(names) + ")";
}

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

}  // namespace hpo::store
