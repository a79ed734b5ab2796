// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "hpo/base/bytes.hpp"
#include "hpo/base/error.hpp"
#include "hpo/core/field.hpp"
#include "hpo/core/plan.hpp"

namespace hpo {

/// A member's value in words: "precision bf16", "activation checkpointing", "cap 600.00 MiB". Empty for a member that is off or not set.
template <class T>
[[nodiscard]] std::string plan_words(const PlanField<T>& field, const T& value) {
    const auto with = [&](std::string_view text) { return std::string{field.label} + " " + std::string{text}; };
    if constexpr (std::same_as<T, bool>) {
        return value ? std::string{field.label} : "";
    } else if constexpr (std::same_as<T, std::string>) {
        return value.empty() ? "" : with(value);
    } else if constexpr (std::same_as<T, std::optional<std::int64_t>>) {
        if (!value) return "";
        return with(field.unit == PlanUnit::bytes ? format_bytes(*value) : std::to_string(*value));
    } else {
        return with(to_text(value));
    }
}

/// The keys of the plan members that a study may start with: the levers.
[[nodiscard]] inline std::vector<std::string> lever_keys() {
    std::vector<std::string> keys;
    each_plan_field([&](const auto& field) {
        if (field.role == PlanRole::lever) keys.emplace_back(field.key);
    });
    return keys;
}

namespace detail {

/// Reads a plan member's value as people write it. Returns nullopt for text that is not a value of it. `expected` receives what was
/// expected.
template <class T>
[[nodiscard]] std::optional<T> plan_value(const PlanField<T>& field, std::string_view text, std::string& expected) {
    if constexpr (std::is_enum_v<T>) {
        expected = "one of " + join_names(std::vector<std::string>(EnumNames<T>::names.begin(), EnumNames<T>::names.end()));
        return enum_of<T>(text);
    } else if constexpr (std::same_as<T, std::optional<std::int64_t>>) {
        const bool bytes = field.unit == PlanUnit::bytes;
        expected = bytes ? "a size of at least " + format_bytes(field.least()) + ", such as 600MiB" : "a whole number of at least 1";
        const auto count = bytes ? parse_bytes(text) : field_traits<std::int64_t>::parse(text);
        if (!count || *count < field.least()) return std::nullopt;
        return std::optional<T>{std::in_place, *count};
    } else {
        expected = field_traits<T>::expected;
        return field_traits<T>::parse(text);
    }
}

}  // namespace detail

/// Sets one lever of `plan` from an assignment KEY=VALUE. Throws Error{unknown_name, bad_value} with the place.
inline void set_lever(ExecutionPlan& plan, const std::string& place, std::string_view assignment) {
    const auto equals = assignment.find('=');
    if (equals == std::string_view::npos || equals == 0) throw bad_value(place, "'" + std::string{assignment} + "'", "KEY=VALUE");
    const std::string_view key = assignment.substr(0, equals);
    const std::string_view text = assignment.substr(equals + 1);
    bool found = false;
    each_plan_field([&](const auto& field) {
        if (field.role != PlanRole::lever || field.key != key) return;
        found = true;
        std::string expected;
        auto value = detail::plan_value(field, text, expected);
        if (!value) throw bad_value(place + " " + std::string{key}, "'" + std::string{text} + "'", expected);
        plan.*field.member = std::move(*value);
    });
    if (!found) throw unknown_name(place, "lever", key, lever_keys());
}

}  // namespace hpo
