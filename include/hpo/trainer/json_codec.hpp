// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/core/fields.hpp"
#include "hpo/core/plan.hpp"
#include "hpo/core/value.hpp"
#include "hpo/trainer/record_line.hpp"

namespace hpo {

using Json = nlohmann::json;

/// Reads one value. Throws Error{bad_value} that names the place of a mistake. Absent members keep their defaults, and unknown members are
/// ignored, so that older and newer programs understand each other.
template <class T>
void decode(const Json& json, const std::string& place, T& value);

/// The value as JSON. `decode` reads back exactly the same numbers. Numbers that JSON cannot write become the texts "NaN", "Infinity" and
/// "-Infinity". A member that is nullopt is left out. Of a variant of records, `op` says which one it is.
template <class T>
[[nodiscard]] Json encode(const T& value);

namespace detail {

[[noreturn]] void refuse(const Json& json, const std::string& place, std::string_view expected);

template <std::integral T>
void decode_integer(const Json& json, const std::string& place, T& value) {
    if (!json.is_number_integer()) refuse(json, place, "a whole number");
    const bool fits = json.is_number_unsigned() ? std::in_range<T>(json.get<std::uint64_t>()) : std::in_range<T>(json.get<std::int64_t>());
    if (!fits) refuse(json, place, "a whole number of " + std::to_string(8 * sizeof(T)) + " bits");
    value = json.is_number_unsigned() ? static_cast<T>(json.get<std::uint64_t>()) : static_cast<T>(json.get<std::int64_t>());
}

std::optional<double> non_finite(const Json& json);

void decode_double(const Json& json, const std::string& place, double& value);

/// The value as JSON. A number that JSON cannot write becomes {"number": "NaN"}, because the value may also be the text "NaN".
Json encode_variant(const Value& value);

void decode_variant(const Json& json, const std::string& place, Value& value);

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

/// A variant of records, each of which op_of names.
template <class T>
struct is_message : std::false_type {};
template <Described... Records>
struct is_message<std::variant<Records...>> : std::true_type {};

template <class... Records>
void decode_message(const Json& json, const std::string& place, std::variant<Records...>& value) {
    if (!json.is_object()) refuse(json, place, "an object");
    std::string op;
    if (const auto found = json.find("op"); found != json.end()) decode(*found, place + ".op", op);
    const auto becomes = [&]<class Record>(std::in_place_type_t<Record>) {
        if (op == op_of<Record>) decode(json, place, value.template emplace<Record>());
        return op == op_of<Record>;
    };
    if ((becomes(std::in_place_type<Records>) || ...)) return;
    throw unknown_name(place, "op", op, std::vector<std::string>{std::string{op_of<Records>}...});
}

}  // namespace detail

template <class T>
Json encode(const T& value) {
    if constexpr (std::is_same_v<T, double>) {
        return std::isfinite(value) ? Json(value) : Json(number_text(value));
    } else if constexpr (std::is_enum_v<T>) {
        return EnumNames<T>::names[static_cast<std::size_t>(value)];
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
    } else if constexpr (detail::is_message<T>::value) {
        return std::visit(
            []<class Record>(const Record& record) {
                static_assert(!describes<Record>("op"), "a member of the record is called as what tells the records apart");
                Json message = encode(record);
                message["op"] = op_of<Record>;
                return message;
            },
            value);
    } else if constexpr (Described<T>) {
        Json json = Json::object();
        each_field<T>([&]<class Item>(const Field<T, Item>& field) {
            if (field.names.is_local) return;
            Json item = encode(value.*field.member);
            if (!detail::is_optional<Item>::value || !item.is_null()) json[std::string{field.name}] = std::move(item);
        });
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
        const auto named = json.is_string() ? enum_of<T>(json.get_ref<const std::string&>()) : std::nullopt;
        if (named) return static_cast<void>(value = *named);
        const auto& names = EnumNames<T>::names;
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
    } else if constexpr (detail::is_message<T>::value) {
        detail::decode_message(json, place, value);
    } else {
        if (!json.is_object()) detail::refuse(json, place, "an object");
        each_field<T>([&](const auto& field) {
            if (field.names.is_local) return;
            const auto found = json.find(std::string{field.name});
            if (found != json.end()) decode(*found, place + "." + std::string{field.name}, value.*field.member);
        });
    }
}

template <class T>
[[nodiscard]] T decoded(const Json& json, const std::string& place) {
    T value{};
    decode(json, place, value);
    return value;
}

/// The JSON as one line, without a line end. Bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] inline std::string json_line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// Reads JSON text. Throws Error{bad_value} that names the place. Text with more than 64 levels is refused, because each level would take a
/// stack frame when it is copied or written.
[[nodiscard]] Json parse_json(std::string_view text, const std::string& place);

template <class Record>
std::string record_line(const Record& record) {
    return json_line(encode(record));
}

template <class Record>
Record read_record(std::string_view text, const std::string& place) {
    return decoded<Record>(parse_json(text, place), place);
}

}  // namespace hpo
