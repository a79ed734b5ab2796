// SPDX-License-Identifier: MIT
#pragma once

#include <lua.hpp>
#include <string>

#include "hpo/script/lua_state.hpp"

/// Objects that a script may read but not write, because a value that it assigned would have no effect.
///
/// Design note: each object is a userdata in front of a table. The metamethods of a plain table do not see `rawset`, nor an assignment to a
/// key that exists.
namespace hpo::script::read_only {

/// Replaces the table on top of the stack by an object of the kind `type` that shows its members.
void wrap(lua_State* L, const char* type);

/// Pushes the table behind the object at `index`.
inline void push_table(lua_State* L, int index) { lua_getiuservalue(L, index, 1); }

namespace detail {

/// Upvalue: the kind.
int members(lua_State* L);

}  // namespace detail

/// Defines the kind `type`; messages also call it by this name. Pops two functions from the stack: `(object, name)` answers for a missing
/// member, and `(object, name, value)` raises the error of an assignment.
void install(lua_State* L, const char* type);

/// Raises `OWNER.NAME: cannot be set: WHY` for the name at stack index 2.
[[noreturn]] inline void raise_assigned(lua_State* L, const std::string& owner, const std::string& why) {
    const std::string name = lua_type(L, 2) == LUA_TSTRING ? "." + clipped(lua_tostring(L, 2)) : "[" + type_text(L, 2) + "]";
    raise(L, owner + name + ": cannot be set: " + why);
}

/// The value at stack index 3 as a script would write it, or "..." if it is long or not a plain value.
[[nodiscard]] std::string assigned_text(lua_State* L);

}  // namespace hpo::script::read_only
