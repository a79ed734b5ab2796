// SPDX-License-Identifier: MIT
#pragma once

#include <lua.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/value.hpp"

namespace hpo::script {

/// Longest text that is taken from a script: it is copied into memory that the script's limit does not count.
inline constexpr std::size_t max_text_bytes = std::size_t{64} * 1024;

/// The Lua value as one of ours; nothing for tables, functions, longer texts and the like. A whole number stays one only where Lua has
/// it as an integer: 1.0 is a number with a fraction of none.
[[nodiscard]] std::optional<Value> to_value(lua_State* L, int index);

void push_value(lua_State* L, const Value& value);

/// Sets a member of the table on top; an absent number stays nil.
inline void set_member(lua_State* L, const char* name, const Value& value) {
    push_value(L, value);
    lua_setfield(L, -2, name);
}
inline void set_member(lua_State* L, const char* name, const std::optional<std::int64_t>& value) {
    set_member(L, name, value ? Value{*value} : Value{});
}

/// Raises `PLACE: got TYPE for WHAT; expected EXPECTED`.
[[noreturn]] void raise_wrong_type(lua_State* L, int index, const std::string& context, std::string_view what, std::string_view expected);

/// Typed reading of one Lua value, which is never converted: "1" is no number here. `context` and `what` are for errors.
[[nodiscard]] double require_number(lua_State* L, int index, const std::string& context, std::string_view what);
[[nodiscard]] std::int64_t require_whole(lua_State* L, int index, const std::string& context, std::string_view what);
[[nodiscard]] std::string require_text(lua_State* L, int index, const std::string& context, std::string_view what);

/// A table whose keys must all be known, read member by member. `false` counts as not given, so that
/// `max = heavy and 384` narrows or does not.
class Fields {
public:
    /// Raises an error for a key that is not in `known`.
    Fields(lua_State* L, int index, std::string context, std::span<const std::string_view> known);

    /// Pushes the member; false, and nothing pushed, when it is not given.
    [[nodiscard]] bool push(const char* name) const;
    [[nodiscard]] std::optional<double> number(const char* name) const;
    [[nodiscard]] std::optional<std::int64_t> whole(const char* name) const;
    [[nodiscard]] std::optional<std::string> text(const char* name) const;
    /// Nothing when the member is nil.
    [[nodiscard]] std::optional<bool> truth(const char* name) const;

private:
    template <class Read>
    auto read(const char* name, Read&& reader) const -> std::optional<decltype(reader())>;

    lua_State* L_;
    int index_;
    std::string context_;
};

/// The list at `index` as values. Raises for an empty list, for a key that is no place in it, and for a value of no kind.
[[nodiscard]] std::vector<Value> require_list(lua_State* L, int index, const std::string& context, std::string_view what);

}  // namespace hpo::script

#ifndef HPO_COMPILED
#include "hpo/script/impl/lua_value_inl.hpp"
#endif
