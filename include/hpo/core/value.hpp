// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace hpo {

/// A parameter's value as a person sees it: null, a truth value, a whole number, a number or a text. Read it with `get_if<double>(&value)`,
/// or ask its kind.
///
/// Design note: a std::variant could hold the same. But its copies, moves and comparisons are tables of instantiated functions, which cost
/// every program that includes the core 0.1 s of compile time.
class Value {
public:
    enum class Kind : unsigned char { null, truth, whole, real, text };

    Value() = default;
    template <std::same_as<bool> T>
    Value(T truth) noexcept : kind_{Kind::truth}, truth_{truth} {}
    template <std::signed_integral T>
    Value(T whole) noexcept : kind_{Kind::whole}, whole_{whole} {}
    Value(double real) noexcept : kind_{Kind::real}, real_{real} {}
    Value(std::string text) noexcept : kind_{Kind::text}, text_{std::move(text)} {}
    Value(std::string_view text) : kind_{Kind::text}, text_{text} {}
    Value(const char* text) : kind_{Kind::text}, text_{text} {}

    [[nodiscard]] Kind kind() const noexcept { return kind_; }
    [[nodiscard]] bool is_null() const noexcept { return kind_ == Kind::null; }

    /// The content as bool, std::int64_t, double or std::string. Returns nullptr if it is of another kind.
    template <class T>
    [[nodiscard]] friend const T* get_if(const Value* value) noexcept {
        if constexpr (std::same_as<T, bool>) return value->kind_ == Kind::truth ? &value->truth_ : nullptr;
        else if constexpr (std::same_as<T, std::int64_t>) return value->kind_ == Kind::whole ? &value->whole_ : nullptr;
        else if constexpr (std::same_as<T, double>) return value->kind_ == Kind::real ? &value->real_ : nullptr;
        else return value->kind_ == Kind::text ? &static_cast<const T&>(value->text_) : nullptr;
    }

    /// True for the same kind and the same content. The whole number 1 is not equal to the number 1.0.
    friend bool operator==(const Value& a, const Value& b) noexcept {
        if (a.kind_ != b.kind_) return false;
        switch (a.kind_) {
            case Kind::null: return true;
            case Kind::truth: return a.truth_ == b.truth_;
            case Kind::whole: return a.whole_ == b.whole_;
            case Kind::real: return a.real_ == b.real_;
            case Kind::text: break;
        }
        return a.text_ == b.text_;
    }

private:
    Kind kind_ = Kind::null;
    union {
        std::int64_t whole_ = 0;
        double real_;
        bool truth_;
    };
    std::string text_;
};

template <class T>
[[nodiscard]] const T* get_if(const Value* value) noexcept;

/// The content of a Value or a Distribution whose kind is known.
template <class T, class Kinds>
[[nodiscard]] const T& get(const Kinds& kinds) noexcept {
    return *get_if<T>(&kinds);
}

/// True if a Value or a Distribution is of the kind whose content is a T.
template <class T, class Kinds>
[[nodiscard]] bool holds(const Kinds& kinds) noexcept {
    return get_if<T>(&kinds) != nullptr;
}

/// The shortest decimal that reads back as the same double. A whole number keeps a ".0". Infinities and NaN are written as Python's json
/// module writes them (Infinity, -Infinity, NaN).
[[nodiscard]] std::string number_text(double value);

/// The text as a JSON string literal. Non-ASCII bytes are kept as they are (UTF-8).
[[nodiscard]] std::string json_quote(std::string_view text);

/// The value as JSON text.
[[nodiscard]] std::string json_text(const Value& value);

/// The value as a person reads it: as json_text, but texts have no quotes.
[[nodiscard]] std::string display_text(const Value& value);

inline std::string number_text(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
    std::array<char, 32> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
    std::string text{buffer.data(), end.ptr};
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
}

inline std::string json_quote(std::string_view text) {
    static constexpr std::string_view hex = "0123456789abcdef";
    std::string quoted = "\"";
    for (const char c : text) {
        switch (c) {
            case '"': quoted += "\\\""; break;
            case '\\': quoted += "\\\\"; break;
            case '\n': quoted += "\\n"; break;
            case '\r': quoted += "\\r"; break;
            case '\t': quoted += "\\t"; break;
            default:
                if (static_cast<unsigned char>(c) < 0x20) {
                    quoted += "\\u00";
                    quoted += hex[static_cast<unsigned char>(c) >> 4U];
                    quoted += hex[static_cast<unsigned char>(c) & 15U];
                } else {
                    quoted += c;
                }
        }
    }
    return quoted + "\"";
}

inline std::string json_text(const Value& value) {
    switch (value.kind()) {
        case Value::Kind::truth: return *get_if<bool>(&value) ? "true" : "false";
        case Value::Kind::whole: return std::to_string(*get_if<std::int64_t>(&value));
        case Value::Kind::real: return number_text(*get_if<double>(&value));
        case Value::Kind::text: return json_quote(*get_if<std::string>(&value));
        case Value::Kind::null: break;
    }
    return "null";
}

inline std::string display_text(const Value& value) {
    if (const auto* text = get_if<std::string>(&value)) return *text;
    if (const auto* number = get_if<double>(&value)) {
        std::array<char, 32> buffer{};
        const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), *number, std::chars_format::general, 6);
        return {buffer.data(), end.ptr};
    }
    return json_text(value);
}

}  // namespace hpo
