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

/// The longest text that is taken from a script. It is copied into memory that the script's limit does not count.
inline constexpr std::size_t max_text_bytes = std::size_t{64} * 1024;

/// Converts a Lua value. Returns nullopt for tables, functions, longer texts and the like. A number becomes a whole one only if Lua stores
/// it as an integer: 1.0 stays a real number.
[[nodiscard]] std::optional<Value> to_value(lua_State* L, int index);

void push_value(lua_State* L, const Value& value);

/// Sets a member of the table on top of the stack. A null value stays nil.
inline void set_member(lua_State* L, const char* name, const Value& value) {
    push_value(L, value);
    lua_setfield(L, -2, name);
}
inline void set_member(lua_State* L, const char* name, const std::optional<std::int64_t>& value) {
    set_member(L, name, value ? Value{*value} : Value{});
}

/// Raises `PLACE: got TYPE for WHAT; expected EXPECTED`.
[[noreturn]] void raise_wrong_type(lua_State* L, int index, const std::string& context, std::string_view what, std::string_view expected);

/// Read a Lua value of one type without conversion: "1" is not a number here. `context` and `what` are for errors.
[[nodiscard]] double require_number(lua_State* L, int index, const std::string& context, std::string_view what);
[[nodiscard]] std::int64_t require_whole(lua_State* L, int index, const std::string& context, std::string_view what);
[[nodiscard]] std::string require_text(lua_State* L, int index, const std::string& context, std::string_view what);

/// Reads a table member by member; all its keys must be known. `false` counts as not given. So `max = heavy and 384` narrows only if
/// `heavy` is true.
class Fields {
public:
    /// Raises an error for a key that is not in `known`.
    Fields(lua_State* L, int index, std::string context, std::span<const std::string_view> known);

    /// Pushes the member. Returns false and pushes no value if it is not given.
    [[nodiscard]] bool push(const char* name) const;
    [[nodiscard]] std::optional<double> number(const char* name) const;
    [[nodiscard]] std::optional<std::int64_t> whole(const char* name) const;
    [[nodiscard]] std::optional<std::string> text(const char* name) const;
    /// Nullopt if the member is nil.
    [[nodiscard]] std::optional<bool> truth(const char* name) const;

private:
    template <class Read>
    auto read(const char* name, Read&& reader) const -> std::optional<decltype(reader())>;

    lua_State* L_;
    int index_;
    std::string context_;
};

/// Reads the list at `index`. Raises an error if the list is empty, if a key is not a position in it, or if an element is not a value.
[[nodiscard]] std::vector<Value> require_list(lua_State* L, int index, const std::string& context, std::string_view what);

}  // namespace hpo::script
