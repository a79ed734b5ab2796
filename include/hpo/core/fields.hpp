// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace hpo {

/// Specialised beside each enumeration that a record holds: `static constexpr auto& names`, in the order of its values.
template <class Enum>
struct EnumNames;

/// The value of this name. Returns nullopt for any other text.
template <class Enum>
[[nodiscard]] constexpr std::optional<Enum> enum_of(std::string_view name) {
    const auto& names = EnumNames<Enum>::names;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i] == name) return static_cast<Enum>(i);
    }
    return std::nullopt;
}

/// What the number of a member counts.
enum class Unit { none, bytes, seconds };

/// What a member of a record is called outside of C++, and how a table holds it. The borders of processes and plugins call it by its own
/// name.
struct FieldNames {
    Unit unit = Unit::none;
    std::string_view key{};      ///< in JSON that people read, and in rules; empty: the name, with "_bytes" behind a number of bytes
    std::string_view column{};   ///< in a table; empty: as the key
    bool empty_is_null = false;  ///< a table holds an empty text as NULL
    bool is_local = false;       ///< the borders of processes and plugins do not pass it on
    std::string_view since{};    ///< the version whose tables have it first; empty: all have it. Older tables get it as a column of NULL
};

/// A member of a record.
template <class Owner, class T>
struct Field {
    using Type = T;
    std::string_view name;
    T Owner::*member;
    FieldNames names;

    [[nodiscard]] std::string key() const {
        if (!names.key.empty()) return std::string{names.key};
        const bool says_bytes = names.unit != Unit::bytes || name.ends_with("bytes");
        return std::string{name} + (says_bytes ? "" : "_bytes");
    }
    [[nodiscard]] std::string column() const { return names.column.empty() ? key() : std::string{names.column}; }
};

namespace detail {

struct AnyMember {
    template <class Owner, class T>
    constexpr void operator()(std::string_view /*name*/, T Owner::* /*member*/, FieldNames /*names*/ = {}) const {}
};

struct AnyValue {
    template <class T>
    operator T() const;
};

/// How many members an aggregate has: as many as there may be values between its braces.
template <class T, class... Values>
consteval std::size_t count_members() {
    if constexpr (requires { T{Values{}..., AnyValue{}}; }) return count_members<T, Values..., AnyValue>();
    else return sizeof...(Values);
}

}  // namespace detail

/// A struct that describes its members once. Its `fields(field)` calls `field("name", &Record::name)` for each of them, with FieldNames
/// where the name is not all. JSON, tables, rules and comparisons follow from it (each_field).
template <class T>
concept Described = requires {
    T::fields(detail::AnyMember{});
};

/// The word that names a record among those that a message may be (`op` in its JSON).
template <class Record>
inline constexpr std::string_view op_of = Record::op;

/// How many members of a record `fields` describes.
template <Described R>
inline constexpr std::size_t described_members = [] {
    std::size_t count = 0;
    R::fields([&]<class T>(std::string_view, T R::*, FieldNames = {}) { ++count; });
    return count;
}();

/// True if a member of the record has this name.
template <Described R>
[[nodiscard]] consteval bool describes(std::string_view name) {
    bool found = false;
    R::fields([&]<class T>(std::string_view its, T R::*, FieldNames = {}) { found = found || its == name; });
    return found;
}

/// Calls `visit` with the Field of each member, in the order in which the record describes them. Does not compile if a member was
/// forgotten.
template <Described R, class Visit>
constexpr void each_field(Visit&& visit) {
    static_assert(described_members<R> == detail::count_members<R>(), "the record's `fields` do not describe each of its members");
    R::fields([&]<class T>(std::string_view name, T R::*member, FieldNames names = {}) { visit(Field<R, T>{name, member, names}); });
}

}  // namespace hpo
