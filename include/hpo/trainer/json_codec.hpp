// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "hpo/core/error.hpp"
#include "hpo/core/value.hpp"

namespace hpo {

using Json = nlohmann::json;

/// A member of a record and its key in JSON.
template <class Record, class T>
struct JsonMember {
    std::string_view key;
    T Record::*member;
};
template <class Record, class T>
JsonMember(std::string_view, T Record::*) -> JsonMember<Record, T>;

/// Specialised for each record that travels as JSON: `static constexpr std::tuple list{JsonMember{...}, ...}`.
template <class Record>
struct JsonMembers;

/// Specialised for each enumeration that travels as JSON: `static constexpr auto& names` in the order of its values.
template <class Enum>
struct JsonNames;

template <class T>
concept JsonRecord = requires {
    JsonMembers<T>::list;
};

/// Reads one value; every mistake is an Error{bad_value} that names the place. Members that are absent keep their
/// defaults and members that are not known are passed over, so that older and newer peers understand each other.
template <class T>
void decode(const Json& json, const std::string& place, T& value);

/// The value as JSON. Numbers come back exactly; those that JSON cannot write are the texts "NaN", "Infinity" and
/// "-Infinity". Absent optionals are left out of records.
template <class T>
[[nodiscard]] Json encode(const T& value);

namespace detail {

[[noreturn]] inline void refuse(const Json& json, const std::string& place, std::string_view expected) {
    std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > 80) text = text.substr(0, 77) + "...";
    throw bad_value(place, text, expected);
}

template <std::integral T>
void decode_integer(const Json& json, const std::string& place, T& value) {
    if (!json.is_number_integer()) refuse(json, place, "a whole number");
    const bool fits = json.is_number_unsigned() ? std::in_range<T>(json.get<std::uint64_t>()) : std::in_range<T>(json.get<std::int64_t>());
    if (!fits) refuse(json, place, "a whole number of " + std::to_string(8 * sizeof(T)) + " bits");
    value = json.is_number_unsigned() ? static_cast<T>(json.get<std::uint64_t>()) : static_cast<T>(json.get<std::int64_t>());
}

inline std::optional<double> non_finite(const Json& json) {
    if (json == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (json == "Infinity") return std::numeric_limits<double>::infinity();
    if (json == "-Infinity") return -std::numeric_limits<double>::infinity();
    return std::nullopt;
}

inline void decode_double(const Json& json, const std::string& place, double& value) {
    if (json.is_number()) value = json.get<double>();
    else if (const auto special = non_finite(json)) value = *special;
    else refuse(json, place, "a number");
}

/// A Value of a number that JSON cannot write is {"number": "NaN"}, since a text may read NaN as well.
inline Json encode_variant(const Value& value) {
    switch (value.kind()) {
        case Value::Kind::truth: return get<bool>(value);
        case Value::Kind::whole: return get<std::int64_t>(value);
        case Value::Kind::text: return get<std::string>(value);
        case Value::Kind::null: return nullptr;
        case Value::Kind::real: break;
    }
    const double number = get<double>(value);
    return std::isfinite(number) ? Json(number) : Json{{"number", number_text(number)}};
}

inline void decode_variant(const Json& json, const std::string& place, Value& value) {
    if (json.is_null()) value = Value{};
    else if (json.is_boolean()) value = json.get<bool>();
    else if (json.is_number_integer()) {
        std::int64_t whole = 0;
        decode_integer(json, place, whole);
        value = whole;
    } else if (json.is_number_float()) value = json.get<double>();
    else if (json.is_string()) value = json.get<std::string>();
    else if (json.is_object() && json.size() == 1 && json.contains("number") && non_finite(json["number"]))
        value = *non_finite(json["number"]);
    else refuse(json, place, "null, true, false, a number or a text");
}

template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};
template <class T>
struct is_vector : std::false_type {};
template <class T>
struct is_vector<std::vector<T>> : std::true_type {};
template <class T>
struct is_map : std::false_type {};
template <class T>
requires std::derived_from<T, std::map<std::string, typename T::mapped_type, std::less<>>>
struct is_map<T> : std::true_type {
};

}  // namespace detail

template <class T>
Json encode(const T& value) {
    if constexpr (std::is_same_v<T, double>) {
        return std::isfinite(value) ? Json(value) : Json(number_text(value));
    } else if constexpr (std::is_enum_v<T>) {
        return JsonNames<T>::names[static_cast<std::size_t>(value)];
    } else if constexpr (std::is_same_v<T, Value>) {
        return detail::encode_variant(value);
    } else if constexpr (detail::is_optional<T>::value) {
        return value ? encode(*value) : Json(nullptr);
    } else if constexpr (detail::is_vector<T>::value) {
        Json json = Json::array();
        for (const auto& item : value) json.push_back(encode(item));
        return json;
    } else if constexpr (detail::is_map<T>::value) {
        Json json = Json::object();
        for (const auto& [key, item] : value) json[key] = encode(item);
        return json;
    } else if constexpr (JsonRecord<T>) {
        Json json = Json::object();
        const auto add = [&](const auto& member) {
            Json item = encode(value.*(member.member));
            using Item = std::remove_cvref_t<decltype(value.*(member.member))>;
            if (!detail::is_optional<Item>::value || !item.is_null()) json[std::string{member.key}] = std::move(item);
        };
        std::apply([&](const auto&... member) { (add(member), ...); }, JsonMembers<T>::list);
        return json;
    } else {
        return value;
    }
}

template <class T>
void decode(const Json& json, const std::string& place, T& value) {
    if constexpr (std::is_same_v<T, double>) {
        detail::decode_double(json, place, value);
    } else if constexpr (std::is_same_v<T, bool>) {
        if (!json.is_boolean()) detail::refuse(json, place, "true or false");
        value = json.get<bool>();
    } else if constexpr (std::is_integral_v<T>) {
        detail::decode_integer(json, place, value);
    } else if constexpr (std::is_same_v<T, std::string>) {
        if (!json.is_string()) detail::refuse(json, place, "a text");
        value = json.get<std::string>();
    } else if constexpr (std::is_enum_v<T>) {
        const auto& names = JsonNames<T>::names;
        for (std::size_t i = 0; i < names.size(); ++i) {
            if (json == names[i]) return static_cast<void>(value = static_cast<T>(i));
        }
        detail::refuse(json, place, "one of " + join_names(std::vector<std::string>(names.begin(), names.end())));
    } else if constexpr (std::is_same_v<T, Value>) {
        detail::decode_variant(json, place, value);
    } else if constexpr (detail::is_optional<T>::value) {
        if (json.is_null()) value.reset();
        else decode(json, place, value.emplace());
    } else if constexpr (detail::is_vector<T>::value) {
        if (!json.is_array()) detail::refuse(json, place, "a list");
        value.clear();
        value.resize(json.size());
        for (std::size_t i = 0; i < value.size(); ++i) decode(json[i], place + "[" + std::to_string(i) + "]", value[i]);
    } else if constexpr (detail::is_map<T>::value) {
        if (!json.is_object()) detail::refuse(json, place, "an object");
        value.clear();
        for (const auto& [key, item] : json.items()) decode(item, place + "." + key, value.try_emplace(key).first->second);
    } else {
        if (!json.is_object()) detail::refuse(json, place, "an object");
        const auto read = [&](const auto& member) {
            const auto found = json.find(std::string{member.key});
            if (found != json.end()) decode(*found, place + "." + std::string{member.key}, value.*(member.member));
        };
        std::apply([&](const auto&... member) { (read(member), ...); }, JsonMembers<T>::list);
    }
}

template <class T>
[[nodiscard]] T decoded(const Json& json, const std::string& place) {
    T value{};
    decode(json, place, value);
    return value;
}

/// One line of text without its end; bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] inline std::string json_line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// How deep lists and objects lie in each other.
[[nodiscard]] inline int nesting_depth(std::string_view text) {
    int depth = 0;
    int deepest = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quoted) {
            if (c == '\\') ++i;
            else if (c == '"') quoted = false;
        } else if (c == '"') {
            quoted = true;
        } else if (c == '[' || c == '{') {
            deepest = std::max(deepest, ++depth);
        } else if (c == ']' || c == '}') {
            --depth;
        }
    }
    return deepest;
}

/// Reads JSON text; throws Error{bad_value} that names the place. What lies more than 64 deep is refused, since copying
/// and writing it would take a stack frame for each level.
[[nodiscard]] inline Json parse_json(std::string_view text, const std::string& place) {
    constexpr int deepest = 64;
    const std::string got = "'" + std::string{text.substr(0, 80)} + "'";
    if (nesting_depth(text) > deepest) throw bad_value(place, got, "JSON of at most 64 levels");
    Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded()) throw bad_value(place, got, "JSON");
    return json;
}

}  // namespace hpo
