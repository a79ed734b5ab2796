// SPDX-License-Identifier: MIT
#include "json.hpp"

#include <cmath>
#include <iostream>

#include "hpo/analysis/failure_case.hpp"
#include "hpo/core/plan_fields.hpp"
#include "hpo/store/stored_time.hpp"

namespace hpo_analyze {

Json to_json(double number) {
    if (std::isfinite(number)) return number;
    return hpo::number_text(number);
}

Json to_json(const hpo::Value& value) {
    switch (value.kind()) {
        case hpo::Value::Kind::truth: return get<bool>(value);
        case hpo::Value::Kind::whole: return get<std::int64_t>(value);
        case hpo::Value::Kind::real: return to_json(get<double>(value));
        case hpo::Value::Kind::text: return get<std::string>(value);
        case hpo::Value::Kind::null: break;
    }
    return nullptr;
}

Json to_json(const hpo::ParamSet& params) {
    Json json = Json::object();
    for (const hpo::Param& param : params) json[param.name] = to_json(param.value());
    return json;
}

Json to_json(const hpo::ExecutionPlan& plan) {
    Json json = Json::object();
    hpo::each_plan_field([&]<class T>(const hpo::PlanField<T>& field) {
        const T& value = plan.*field.member;
        Json& item = json[std::string{field.key}];
        if constexpr (std::is_enum_v<T>) item = hpo::to_text(value);
        else if constexpr (std::is_same_v<T, std::optional<std::int64_t>>) item = or_null(value);
        else item = value;
    });
    json["micro_batch"] = or_null(plan.effective_micro_batch());
    json["accumulation_steps"] = plan.accumulation_steps();
    return json;
}

Json to_json(const hpo::MemoryReading& reading) {
    Json neighbours = Json::array();
    for (const hpo::MemoryNeighbour& neighbour : reading.neighbours)
        neighbours.push_back({{"pid", neighbour.pid}, {"bytes", neighbour.bytes}});
    return {{"allocated_bytes", or_null(reading.allocated)},
            {"reserved_bytes", or_null(reading.reserved)},
            {"free_bytes", or_null(reading.free)},
            {"capacity_bytes", or_null(reading.capacity)},
            {"limit_bytes", or_null(reading.limit)},
            {"peak_allocated_bytes", or_null(reading.peak_allocated)},
            {"peak_reserved_bytes", or_null(reading.peak_reserved)},
            {"neighbours", std::move(neighbours)}};
}

Json brief_json(const hpo::Trial& trial) {
    Json values = Json::array();
    for (const double value : trial.values) values.push_back(to_json(value));
    return {{"number", trial.number},
            {"state", to_text(trial.state)},
            {"values", std::move(values)},
            {"feasible", trial.feasible()},
            {"params", to_json(trial.params)},
            {"started", time_or_null(trial.started)},
            {"completed", time_or_null(trial.completed)},
            {"seconds", or_null(hpo::analysis::detail::trial_seconds(trial))},
            {"attempts", trial.attempts.size()},
            {"peak_bytes", or_null(hpo::analysis::peak_of(trial))}};
}

Json to_json(const hpo::Attributes& attributes) {
    Json json = Json::object();
    for (const auto& [name, text] : attributes) {
        Json value = Json::parse(text, nullptr, false);
        json[name] = value.is_discarded() ? Json(text) : std::move(value);  // NaN and Infinity, which Python writes, stay texts
    }
    return json;
}

Json time_or_null(const std::optional<hpo::Time>& time) {
    if (!time) return nullptr;
    return hpo::store::time_text(*time) + "Z";
}

void print(const Json& json) { std::cout << json.dump(2, ' ', false, Json::error_handler_t::replace) << '\n'; }

}  // namespace hpo_analyze
