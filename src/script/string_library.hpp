// SPDX-License-Identifier: MIT
#pragma once

#include <lua.hpp>
#include <optional>
#include <string_view>

#include "script/pattern.hpp"

/// string.find, match, gmatch, gsub and rep, within the limits of a LuaState. Their results are those of Lua 5.4.
namespace hpo::script::string_library {

std::string_view text_argument(lua_State* L, int index);

Pattern pattern_argument(lua_State* L, std::string_view text);

/// 0-based position for Lua's `init` argument; may lie beyond the end.
std::size_t start_argument(lua_State* L, int index, std::size_t length);

/// The first match at or after `start`. If `anchored`, only at `start`.
std::optional<Pattern::Match> search(lua_State* L, const Pattern& pattern, std::string_view subject, std::size_t start, bool anchored);

inline void push_text(lua_State* L, std::string_view subject, std::size_t begin, std::size_t end) {
    lua_pushlstring(L, subject.data() + begin, end - begin);
}

/// Pushes capture `index`, or the whole match if there are no captures and `index` is 0.
void push_capture(lua_State* L, std::string_view subject, const Pattern::Match& match, std::size_t index);

int push_captures(lua_State* L, std::string_view subject, const Pattern::Match& match, bool whole_when_none);

inline int not_found(lua_State* L) {
    luaL_pushfail(L);
    return 1;
}

int find(lua_State* L);

int match(lua_State* L);

/// Upvalues: subject, pattern, next position (0-based), end of the last match or -1.
int gmatch_next(lua_State* L);

int gmatch(lua_State* L);

/// Pushes the replacement of a match in gsub: the value of a table or a function, or the expanded text.
void push_replacement(lua_State* L, std::string_view subject, const Pattern::Match& match);

int gsub(lua_State* L);

/// Replaces Lua's string.rep, which loops as often as it is asked to, even with an empty text: string.rep("", 1e18).
int rep(lua_State* L);

}  // namespace hpo::script::string_library
