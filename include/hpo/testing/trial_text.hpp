// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "hpo/core/attributes.hpp"
#include "hpo/core/fields.hpp"
#include "hpo/core/history.hpp"
#include "hpo/core/plan.hpp"
#include "hpo/core/trial.hpp"

namespace hpo::testing {

// A record as text, with all its members (core/fields.hpp). Equal texts mean equal records, NaN included, and a difference is easy to read.

[[nodiscard]] inline std::string text_of(bool value) { return value ? "true" : "false"; }
template <std::integral T>
[[nodiscard]] std::string text_of(T value) {
    return std::to_string(value);
}
[[nodiscard]] inline std::string text_of(double value) { return number_text(value); }
[[nodiscard]] inline std::string text_of(const std::string& value) { return json_quote(value); }
[[nodiscard]] inline std::string text_of(const Value& value) { return json_text(value); }
[[nodiscard]] inline std::string text_of(const Time& value) { return std::to_string(microseconds_since_epoch(value)) + " us"; }
template <class Enum>
requires std::is_enum_v<Enum>
[[nodiscard]] std::string text_of(Enum value) { return std::string{EnumNames<Enum>::names[static_cast<std::size_t>(value)]}; }
[[nodiscard]] std::string text_of(const ParamSet& params);
template <Described R>
[[nodiscard]] std::string text_of(const R& record);
template <class T>
[[nodiscard]] std::string text_of(const std::optional<T>& value);
template <class T>
[[nodiscard]] std::string text_of(const HeapOptional<T>& value);
template <class Key, class T>
[[nodiscard]] std::string text_of(const std::pair<Key, T>& entry);
template <class Key, class T>
[[nodiscard]] std::string text_of(const FlatMap<Key, T>& entries);
template <class T>
[[nodiscard]] std::string text_of(const std::vector<T>& items);
[[nodiscard]] std::string text_of(const Attributes& attributes);

[[nodiscard]] inline std::string text_of(const ParamSet& params) {
    std::string text;
    for (const Param& param : params) {
        text += (text.empty() ? "" : "; ") + param.name + " = " + number_text(param.internal) + " (" + json_text(param.value()) + ") in " +
                describe(*param.distribution);
    }
    return "{" + text + "}";
}
template <Described R>
std::string text_of(const R& record) {
    std::string text;
    each_field<R>([&](const auto& field) { text += "\n" + std::string{field.name} + " " + text_of(record.*field.member); });
    for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 3) text.insert(at + 1, "  ");
    return text;
}
template <class T>
std::string text_of(const std::optional<T>& value) {
    return value ? text_of(*value) : "none";
}
template <class T>
std::string text_of(const HeapOptional<T>& value) {
    return value ? text_of(*value) : "none";
}
template <class Key, class T>
std::string text_of(const std::pair<Key, T>& entry) {
    return text_of(entry.first) + ": " + text_of(entry.second);
}

namespace detail {
template <class Items>
[[nodiscard]] std::string list_text(const Items& items) {
    std::string text;
    for (const auto& item : items) text += (text.empty() ? "" : ", ") + text_of(item);
    return "[" + text + "]";
}
}  // namespace detail

template <class Key, class T>
std::string text_of(const FlatMap<Key, T>& entries) {
    return detail::list_text(entries);
}
template <class T>
std::string text_of(const std::vector<T>& items) {
    return detail::list_text(items);
}
inline std::string text_of(const Attributes& attributes) { return detail::list_text(attributes); }

}  // namespace hpo::testing
