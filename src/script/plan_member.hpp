// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/core/plan.hpp"
#include "hpo/script/lua_state.hpp"
#include "hpo/script/lua_value.hpp"

namespace hpo::script {

/// Sets a member of the plan if the table gives a value for it.
template <class T>
void read_plan_member(lua_State* L, const Fields& given, const std::string& place, const PlanField<T>& field, ExecutionPlan& plan) {
    const std::string key{field.key};
    const AtMember at{L, key};
    T& member = plan.*field.member;
    if constexpr (std::is_same_v<T, bool>) {
        member = given.truth(key.c_str()).value_or(member);
    } else if constexpr (std::is_same_v<T, std::string>) {
        member = given.text(key.c_str()).value_or(member);
    } else if constexpr (std::is_same_v<T, Precision>) {
        const auto name = given.text(key.c_str());
        if (!name) return;
        const auto* const found = std::find(precision_names.begin(), precision_names.end(), *name);
        if (found == precision_names.end()) {
            const std::vector<std::string> known(precision_names.begin(), precision_names.end());
            raise(L, unknown_name(place, key, clipped(*name), known).what());
        }
        member = static_cast<Precision>(found - precision_names.begin());
    } else {
        const auto count = given.whole(key.c_str());
        if (count && *count < field.least()) {
            raise(L, place + ": got " + key + " " + std::to_string(*count) + "; expected at least " + std::to_string(field.least()));
        }
        if (count) member = count;
    }
}

}  // namespace hpo::script
