// SPDX-License-Identifier: MIT
#include "support/json.hpp"

#include <cmath>
#include <iostream>
#include <utility>

#include "hpo/core/plan.hpp"
#include "hpo/store/sqlite/stored_time.hpp"

namespace hpo::tools {

Json to_json(double number) {
    if (std::isfinite(number)) return number;
    return number_text(number);
}

Json to_json(const Value& value) {
    if (const auto* truth = std::get_if<bool>(&value)) return *truth;
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
    if (const auto* real = std::get_if<double>(&value)) return to_json(*real);
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    return nullptr;
}

Json to_json(const ParamSet& params) {
    Json json = Json::object();
    for (const Param& param : params) json[param.name] = to_json(param.value());
    return json;
}

Json to_json(const ExecutionPlan& plan) {
    Json json = Json::object();
    each_plan_field([&]<class T>(const PlanField<T>& field) {
        const T& value = plan.*field.member;
        Json& item = json[std::string{field.key}];
        if constexpr (std::is_enum_v<T>) item = to_text(value);
        else if constexpr (std::is_same_v<T, std::optional<std::int64_t>>) item = or_null(value);
        else item = value;
    });
    json["micro_batch"] = or_null(plan.effective_micro_batch());
    json["accumulation_steps"] = plan.accumulation_steps();
    return json;
}

Json to_json(const Attributes& attributes) {
    Json json = Json::object();
    for (const auto& [name, text] : attributes) {
        Json value = Json::parse(text, nullptr, false);
        json[name] = value.is_discarded() ? Json(text) : std::move(value);  // NaN and Infinity, which Python writes, stay texts
    }
    return json;
}

Json time_or_null(const std::optional<Time>& time) {
    if (!time) return nullptr;
    return store::time_text(*time) + "Z";
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

std::string one_line_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

void print(const Json& json) { std::cout << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n'; }

}  // namespace hpo::tools
