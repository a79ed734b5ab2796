// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "hpo/core/plan_fields.hpp"
#include "hpo/store/json_text.hpp"
#include "hpo/store/sqlite/connection.hpp"
#include "store/sqlite/plan_json.hpp"

namespace hpo::store {

// The plan of an attempt as columns of hpo_attempts, one for each member, for people who use SQL. hpo itself reads plan_json. It reads
// these columns only if a file has no plan_json.

/// Adds the columns to the table that hpo_tables makes.
[[nodiscard]] inline std::string plan_columns_sql() {
    std::string sql;
    each_plan_field([&]<class T>(const PlanField<T>& field) {
        constexpr bool is_whole = std::is_same_v<T, bool> || std::is_same_v<T, std::optional<std::int64_t>>;
        sql += "ALTER TABLE hpo_attempts ADD COLUMN " + std::string{field.key} + (is_whole ? " INTEGER;\n" : " TEXT;\n");
    });
    return sql;
}

/// A member's value as its column holds it.
template <class T>
[[nodiscard]] auto plan_column(const T& value) {
    if constexpr (std::is_enum_v<T>) return hpo::to_text(value);
    else if constexpr (std::is_same_v<T, std::string>) return valid_utf8(value);
    else return value;
}

/// The plan in the columns from `first` on, in the order of plan_fields. A member keeps its default if its column is NULL.
[[nodiscard]] inline ExecutionPlan read_plan(const Rows& row, int first) {
    ExecutionPlan plan;
    int column = first;
    each_plan_field([&]<class T>(const PlanField<T>& field) {
        const int at = column++;
        if (row.is_null(at)) return;
        T& member = plan.*field.member;
        if constexpr (std::is_same_v<T, bool>) member = row.integer(at) != 0;
        else if constexpr (std::is_same_v<T, std::string>) member = row.text(at);
        else if constexpr (std::is_same_v<T, Precision>) read_precision(row.text(at), member);
        else member = row.integer(at);
    });
    return plan;
}

}  // namespace hpo::store
