// SPDX-License-Identifier: MIT
#include "hpo/script/read_only.hpp"

#include <lua.hpp>
#include <string>

#include "hpo/core/value.hpp"
#include "hpo/script/lua_value.hpp"

namespace hpo::script::read_only {

void wrap(lua_State* L, const char* type) {
    lua_newuserdatauv(L, 0, 1);
    lua_insert(L, -2);
    lua_setiuservalue(L, -2, 1);
    luaL_setmetatable(L, type);
}

}  // namespace hpo::script::read_only

namespace hpo::script::read_only::detail {

/// Upvalue: the function that answers for a missing member.
int look_up(lua_State* L) {
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

/// Upvalue: the kind. It must be checked, because a script may pass any value to an iterator.
int next_member(lua_State* L) {
    lua_settop(L, 2);
    luaL_checkudata(L, 1, lua_tostring(L, lua_upvalueindex(1)));
    push_table(L, 1);
    lua_insert(L, 2);
    if (lua_next(L, 2) != 0) return 2;
    lua_pushnil(L);
    return 1;
}

int members(lua_State* L) {
    lua_settop(L, 1);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushcclosure(L, &next_member, 1);
    lua_insert(L, 1);
    lua_pushnil(L);
    return 3;
}

}  // namespace hpo::script::read_only::detail

namespace hpo::script::read_only {

void install(lua_State* L, const char* type) {
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

std::string assigned_text(lua_State* L) {
    const auto value = to_value(L, 3);
    const std::string text = value && !value->is_null() ? json_text(*value) : "...";
    return text.size() > 40 ? "..." : text;
}

}  // namespace hpo::script::read_only
