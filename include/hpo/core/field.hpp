// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "hpo/base/bytes.hpp"
#include "hpo/base/error.hpp"
#include "hpo/core/value.hpp"

namespace hpo {

/// A number of bytes in a configuration: written "600MiB", printed "600.00 MiB".
struct Bytes {
    std::int64_t count = 0;
    friend bool operator==(Bytes, Bytes) = default;
};

/// Accepts any option of any Config and ignores it.
struct AnyField {
    template <class Config, class T>
    void operator()(std::string_view /*name*/, T Config::* /*member*/, std::string_view /*help*/) const {}
};

/// A policy that the registry can build from text. Its `fields(visit)` calls `visit(name, &Config::member, help)` for each option. Parsing,
/// help, Lua and documentation all use this list. Members may have the types for which field_traits exists.
template <class P>
concept Configurable = std::default_initializable<typename P::Config> && std::constructible_from<P, typename P::Config> && requires {
    { P::name } -> std::convertible_to<std::string_view>;
    { P::summary } -> std::convertible_to<std::string_view>;
    P::fields(AnyField{});
};

/// The Config of policies without options.
struct NoConfig {};

/// Throws bad_value for an option below its least value.
template <std::int64_t least>
void require_at_least(std::string_view option, std::int64_t value) {
    if (value < least) throw bad_value(option, std::to_string(value), std::to_string(least) + " or more");
}

template <class T>
struct field_traits;

template <>
struct field_traits<bool> {
    static constexpr std::string_view expected = "true or false";
    static std::optional<bool> parse(std::string_view text) {
        if (text == "true" || text == "1") return true;
        if (text == "false" || text == "0") return false;
        return std::nullopt;
    }
    static std::string format(bool value) { return value ? "true" : "false"; }
};

template <std::signed_integral T>
struct field_traits<T> {
    static constexpr std::string_view expected = "a whole number";
    static std::optional<T> parse(std::string_view text) {
        T value{};
        const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (status != std::errc{} || end != text.data() + text.size()) return std::nullopt;
        return value;
    }
    static std::string format(T value) { return std::to_string(value); }
};

template <>
struct field_traits<double> {
    static constexpr std::string_view expected = "a number";
    static std::optional<double> parse(std::string_view text) {
        double value{};
        const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (status != std::errc{} || end != text.data() + text.size()) return std::nullopt;
        return value;
    }
    static std::string format(double value) { return display_text(Value{value}); }
};

template <>
struct field_traits<std::string> {
    static constexpr std::string_view expected = "a text";
    static std::optional<std::string> parse(std::string_view text) { return std::string{text}; }
    static std::string format(const std::string& value) { return value; }
};

template <>
struct field_traits<Bytes> {
    static constexpr std::string_view expected = "a size such as 600MiB";
    static std::optional<Bytes> parse(std::string_view text) {
        const auto count = parse_bytes(text);
        return count ? std::optional{Bytes{*count}} : std::nullopt;
    }
    static std::string format(Bytes value) { return format_bytes(value.count); }
};

template <class T>
struct field_traits<std::optional<T>> {
    static constexpr std::string_view expected = field_traits<T>::expected;
    static std::optional<std::optional<T>> parse(std::string_view text) {
        if (text == "none") return std::optional<T>{};
        const auto value = field_traits<T>::parse(text);
        if (!value) return std::nullopt;
        return std::optional<T>{*value};
    }
    static std::string format(const std::optional<T>& value) { return value ? field_traits<T>::format(*value) : "none"; }
};

}  // namespace hpo
