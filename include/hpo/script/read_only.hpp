// SPDX-License-Identifier: MIT
#pragma once

#include <lua.hpp>
#include <string>

#include "hpo/core/value.hpp"
#include "hpo/script/lua_value.hpp"

/// Objects that a script may read and not write: a value that it assigned would have no effect.
///
/// Design note: each is a userdata in front of a table. A table's own metamethods do not see `rawset`, nor a key that is there already.
namespace hpo::script::read_only {

/// Replaces the table on top by an object of the kind `type` that shows it.
inline void wrap(lua_State* L, const char* type) {
    lua_newuserdatauv(L, 0, 1);
    lua_insert(L, -2);
    lua_setiuservalue(L, -2, 1);
    luaL_setmetatable(L, type);
}

/// Pushes the table behind the object at `index`.
inline void push_table(lua_State* L, int index) { lua_getiuservalue(L, index, 1); }

namespace detail {

/// Upvalue: the function that answers for a member that is not there.
inline int look_up(lua_State* L) {
    lua_settop(L, 2);
    push_table(L, 1);
    lua_pushvalue(L, 2);
    if (lua_rawget(L, 3) != LUA_TNIL) return 1;
    lua_settop(L, 2);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, 2, 1);
    return 1;
}

/// Upvalue: the kind, since a script may hand anything to an iterator.
inline int next_member(lua_State* L) {
    lua_settop(L, 2);
    luaL_checkudata(L, 1, lua_tostring(L, lua_upvalueindex(1)));
    push_table(L, 1);
    lua_insert(L, 2);
    if (lua_next(L, 2) != 0) return 2;
    lua_pushnil(L);
    return 1;
}

/// Upvalue: the kind.
inline int members(lua_State* L) {
    lua_settop(L, 1);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushcclosure(L, &next_member, 1);
    lua_insert(L, 1);
    lua_pushnil(L);
    return 3;
}

}  // namespace detail

/// Makes the kind `type`, which is also what messages call it, from two functions on top of the stack, which it pops: `(object, name)`
/// answers for a member that is not there, `(object, name, value)` raises the error of an assignment.
inline void install(lua_State* L, const char* type) {
    luaL_newmetatable(L, type);
    lua_insert(L, -3);
    lua_setfield(L, -3, "__newindex");
    lua_pushcclosure(L, &detail::look_up, 1);
    lua_setfield(L, -2, "__index");
    lua_pushstring(L, type);
    lua_pushcclosure(L, &detail::members, 1);
    lua_setfield(L, -2, "__pairs");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 1);
}

/// Raises `OWNER.NAME: cannot be set: WHY` for the name at stack index 2.
[[noreturn]] inline void raise_assigned(lua_State* L, const std::string& owner, const std::string& why) {
    const std::string name = lua_type(L, 2) == LUA_TSTRING ? "." + clipped(lua_tostring(L, 2)) : "[" + type_text(L, 2) + "]";
    raise(L, owner + name + ": cannot be set: " + why);
}

/// The value at stack index 3 as a script would write it, or "..." where that is long or no plain value.
[[nodiscard]] inline std::string assigned_text(lua_State* L) {
    const auto value = to_value(L, 3);
    const std::string text = value && !value->is_null() ? json_text(*value) : "...";
    return text.size() > 40 ? "..." : text;
}

}  // namespace hpo::script::read_only
