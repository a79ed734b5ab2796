// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "hpo/base/utf8.hpp"
#include "hpo/core/plan_fields.hpp"
#include "hpo/store/sqlite/connection.hpp"

namespace hpo::store {

// A plan as columns, one for each member, in the order of plan_fields.

/// Adds the columns to the tables that hpo_tables makes.
[[nodiscard]] inline std::string plan_columns_sql() {
    std::string sql;
    for (const char* table : {"hpo_attempts", "hpo_rejections"}) {
        each_plan_field([&]<class T>(const PlanField<T>& field) {
            constexpr bool is_whole = std::is_same_v<T, bool> || std::is_same_v<T, std::optional<std::int64_t>>;
            sql += std::string{"ALTER TABLE "} + table + " ADD COLUMN " + std::string{field.key} + (is_whole ? " INTEGER;\n" : " TEXT;\n");
        });
    }
    return sql;
}

/// A member's value as its column holds it.
template <class T>
[[nodiscard]] auto plan_column(const T& value) {
    if constexpr (std::is_enum_v<T>) return hpo::to_text(value);
    else if constexpr (std::is_same_v<T, std::string>) return valid_utf8(value);
    else return value;
}

/// The plan in the columns from `first` on. A member keeps its default if its column is NULL or names no precision that is known.
[[nodiscard]] inline ExecutionPlan read_plan(const Rows& row, int first) {
    ExecutionPlan plan;
    int column = first;
    each_plan_field([&]<class T>(const PlanField<T>& field) {
        const int at = column++;
        if (row.is_null(at)) return;
        T& member = plan.*field.member;
        if constexpr (std::is_same_v<T, bool>) {
            member = row.integer(at) != 0;
        } else if constexpr (std::is_same_v<T, std::string>) {
            member = row.text(at);
        } else if constexpr (std::is_same_v<T, Precision>) {
            const auto name = std::ranges::find(precision_names, row.text_view(at));
            if (name != precision_names.end()) member = static_cast<Precision>(name - precision_names.begin());
        } else {
            member = row.integer(at);
        }
    });
    return plan;
}

}  // namespace hpo::store
