// SPDX-License-Identifier: MIT
#include "store/sqlite/plan_json.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "hpo/core/plan_fields.hpp"
#include "hpo/store/json_text.hpp"

namespace hpo::store {

std::string plan_text(const ExecutionPlan& plan) {
    const ExecutionPlan standard;
    Json json = Json::object();
    each_plan_field([&]<class T>(const PlanField<T>& field) {
        const T& value = plan.*field.member;
        if (value == standard.*field.member) return;
        Json& item = json[std::string{field.key}];
        if constexpr (std::is_enum_v<T>) item = std::string{hpo::to_text(value)};
        else if constexpr (std::is_same_v<T, std::string>) item = valid_utf8(value);
        else if constexpr (std::is_same_v<T, bool>) item = value;
        else item = value ? Json(*value) : Json(nullptr);
    });
    return json.dump();
}

void read_precision(std::string_view name, Precision& precision) {
    for (std::size_t i = 0; i < precision_names.size(); ++i) {
        if (precision_names[i] == name) precision = static_cast<Precision>(i);
    }
}

ExecutionPlan parse_plan(std::string_view text, ExecutionPlan plan) {
    const Json json = parse_json(text);
    if (!json.is_object()) return plan;
    each_plan_field([&]<class T>(const PlanField<T>& field) {
        const auto found = json.find(std::string{field.key});
        if (found == json.end()) return;
        T& member = plan.*field.member;
        if constexpr (std::is_same_v<T, bool>) {
            if (found->is_boolean()) member = found->template get<bool>();
        } else if constexpr (std::is_same_v<T, std::string>) {
            if (found->is_string()) member = found->template get<std::string>();
        } else if constexpr (std::is_same_v<T, Precision>) {
            if (found->is_string()) read_precision(found->template get<std::string>(), member);
        } else {
            if (found->is_null()) member.reset();
            if (found->is_number_integer()) member = found->template get<std::int64_t>();
        }
    });
    return plan;
}

}  // namespace hpo::store
