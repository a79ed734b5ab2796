// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "hpo/core/fields.hpp"
#include "hpo/core/history.hpp"

namespace hpo::tools {

using Json = nlohmann::ordered_json;

/// A number; NaN and infinities, which JSON lacks, as the texts "NaN", "Infinity", "-Infinity".
[[nodiscard]] Json to_json(double number);
[[nodiscard]] Json to_json(const Value& value);
[[nodiscard]] Json to_json(const ParamSet& params);
[[nodiscard]] Json to_json(const ExecutionPlan& plan);
[[nodiscard]] Json to_json(const Attributes& attributes);

[[nodiscard]] Json time_or_null(const std::optional<Time>& time);
template <Described R>
[[nodiscard]] Json to_json(const R& record);

namespace detail {

template <class T>
inline constexpr bool is_list = false;
template <class T>
inline constexpr bool is_list<std::vector<T>> = true;

template <class T>
[[nodiscard]] Json member_json(const T& value, const FieldNames& names);

/// Adds the members of a record, each null if there is none.
template <Described R>
void add_members(Json& json, const R* record) {
    each_field<R>([&]<class T>(const Field<R, T>& field) {
        if constexpr (std::is_same_v<T, std::optional<Estimate>>)
            add_members<Estimate>(json, record && record->*field.member ? &*(record->*field.member) : nullptr);
        else json[field.key()] = record ? member_json(record->*field.member, field.names) : Json(nullptr);
    });
}

template <class T>
Json member_json(const T& value, const FieldNames& names) {
    if constexpr (std::is_same_v<T, std::string>) {
        return value.empty() && names.empty_is_null ? Json(nullptr) : Json(value);
    } else if constexpr (std::is_same_v<T, std::optional<Time>>) {
        return time_or_null(value);
    } else if constexpr (requires { value.has_value(); }) {
        return value ? member_json(*value, names) : Json(nullptr);
    } else if constexpr (std::is_enum_v<T>) {
        return to_text(value);
    } else if constexpr (std::is_same_v<T, StepValues>) {
        Json list = Json::array();
        for (const auto& [step, number] : value) list.push_back({{"step", step}, {"value", to_json(number)}});
        return list;
    } else if constexpr (is_list<T>) {
        Json list = Json::array();
        for (const auto& item : value) list.push_back(member_json(item, names));
        return list;
    } else if constexpr (std::is_integral_v<T>) {
        return value;
    } else {
        return to_json(value);
    }
}

}  // namespace detail

/// The value, or null.
template <class T>
[[nodiscard]] Json or_null(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}
/// The text, or null for an empty one.
[[nodiscard]] Json text_or_null(const std::string& text);

/// A record by the keys of its members. What is not known is null. The members of an estimate stand beside those of its owner.
template <Described R>
Json to_json(const R& record) {
    Json json = Json::object();
    detail::add_members(json, &record);
    return json;
}

/// An object of values by name, from pairs of a name and a Value.
template <class NamedValues>
[[nodiscard]] Json named_values(const NamedValues& values) {
    Json json = Json::object();
    for (const auto& [name, value] : values) json[name] = to_json(value);
    return json;
}

/// The document on one line, as a store keeps it; bytes that are not UTF-8 are replaced.
[[nodiscard]] std::string one_line_text(const Json& json);

/// Writes the document and a line end to standard output; bytes that are not UTF-8 are replaced.
void print(const Json& json);

}  // namespace hpo::tools
