// SPDX-License-Identifier: MIT
#pragma once

#include <lua.hpp>
#include <string>

#include "hpo/script/lua_state.hpp"

/// Objects that a script may read and not write: a value that it assigned would have no effect.
///
/// Design note: each is a userdata in front of a table. A table's own metamethods do not see `rawset`, nor a key that is there already.
namespace hpo::script::read_only {

/// Replaces the table on top by an object of the kind `type` that shows it.
void wrap(lua_State* L, const char* type);

/// Pushes the table behind the object at `index`.
inline void push_table(lua_State* L, int index) { lua_getiuservalue(L, index, 1); }

namespace detail {

/// Upvalue: the kind.
int members(lua_State* L);

}  // namespace detail

/// Makes the kind `type`, which is also what messages call it, from two functions on top of the stack, which it pops: `(object, name)`
/// answers for a member that is not there, `(object, name, value)` raises the error of an assignment.
void install(lua_State* L, const char* type);

/// Raises `OWNER.NAME: cannot be set: WHY` for the name at stack index 2.
[[noreturn]] inline void raise_assigned(lua_State* L, const std::string& owner, const std::string& why) {
    const std::string name = lua_type(L, 2) == LUA_TSTRING ? "." + clipped(lua_tostring(L, 2)) : "[" + type_text(L, 2) + "]";
    raise(L, owner + name + ": cannot be set: " + why);
}

/// The value at stack index 3 as a script would write it, or "..." where that is long or no plain value.
[[nodiscard]] std::string assigned_text(lua_State* L);

}  // namespace hpo::script::read_only

#ifndef HPO_COMPILED
#include "hpo/script/impl/read_only_inl.hpp"
#endif
