// SPDX-License-Identifier: MIT
#include "script/string_library.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/base/bytes.hpp"
#include "hpo/script/lua_state.hpp"

namespace hpo::script::string_library {

std::string_view text_argument(lua_State* L, int index) {
    std::size_t length = 0;
    const char* text = luaL_checklstring(L, index, &length);
    return {text, length};
}

Pattern pattern_argument(lua_State* L, std::string_view text) {
    std::optional<std::string> problem;
    try {
        return Pattern{text};
    } catch (const PatternError& error) {
        problem = error.what();
    }
    raise(L, *problem);
}

std::size_t start_argument(lua_State* L, int index, std::size_t length) {
    const lua_Integer init = luaL_optinteger(L, index, 1);
    if (init > 0) return static_cast<std::size_t>(init) - 1;
    if (init == 0 || init < -static_cast<lua_Integer>(length)) return 0;
    return length - static_cast<std::size_t>(-init);
}

std::optional<Pattern::Match> search(lua_State* L, const Pattern& pattern, std::string_view subject, std::size_t start, bool anchored) {
    for (std::size_t at = start; at <= subject.size(); ++at) {
        if (at % 4096 == 0) LuaState::of(L).check_time(L);
        if (auto match = pattern.match_at(subject, at, [L] { LuaState::of(L).check_time(L); })) return match;
        if (anchored) break;
    }
    return std::nullopt;
}

void push_capture(lua_State* L, std::string_view subject, const Pattern::Match& match, std::size_t index) {
    if (match.captures.empty() && index == 0) return push_text(L, subject, match.begin, match.end);
    const Pattern::Capture& capture = match.captures[index];
    if (capture.is_position) lua_pushinteger(L, static_cast<lua_Integer>(capture.begin) + 1);
    else push_text(L, subject, capture.begin, capture.end);
}

int push_captures(lua_State* L, std::string_view subject, const Pattern::Match& match, bool whole_when_none) {
    const std::size_t count = match.captures.empty() && whole_when_none ? 1 : match.captures.size();
    luaL_checkstack(L, static_cast<int>(count), "too many captures");
    for (std::size_t i = 0; i < count; ++i) push_capture(L, subject, match, i);
    return static_cast<int>(count);
}

int find(lua_State* L) {
    const std::string_view subject = text_argument(L, 1);
    std::string_view text = text_argument(L, 2);
    const std::size_t start = start_argument(L, 3, subject.size());
    if (start > subject.size()) return not_found(L);
    if (lua_toboolean(L, 4) != 0 || text.find_first_of("^$*+?.([%-") == std::string_view::npos) {
        // A search is quadratic at worst and cannot be interrupted. So long search texts are compared in bounded pieces.
        for (std::size_t at = start; at + text.size() <= subject.size(); ++at) {
            at = text.empty() ? at : subject.find(text.front(), at);
            if (at == std::string_view::npos || at + text.size() > subject.size()) break;
            if (subject.compare(at, text.size(), text) == 0) {
                lua_pushinteger(L, static_cast<lua_Integer>(at) + 1);
                lua_pushinteger(L, static_cast<lua_Integer>(at + text.size()));
                return 2;
            }
            if (at % 64 == 0 || text.size() > 4096) LuaState::of(L).check_time(L);
        }
        return not_found(L);
    }
    const bool anchored = text.front() == '^';
    if (anchored) text.remove_prefix(1);
    const Pattern pattern = pattern_argument(L, text);
    const auto match = search(L, pattern, subject, start, anchored);
    if (!match) return not_found(L);
    lua_pushinteger(L, static_cast<lua_Integer>(match->begin) + 1);
    lua_pushinteger(L, static_cast<lua_Integer>(match->end));
    return 2 + push_captures(L, subject, *match, false);
}

int match(lua_State* L) {
    const std::string_view subject = text_argument(L, 1);
    std::string_view text = text_argument(L, 2);
    const std::size_t start = start_argument(L, 3, subject.size());
    if (start > subject.size()) return not_found(L);
    const bool anchored = !text.empty() && text.front() == '^';
    if (anchored) text.remove_prefix(1);
    const Pattern pattern = pattern_argument(L, text);
    const auto found = search(L, pattern, subject, start, anchored);
    return found ? push_captures(L, subject, *found, true) : not_found(L);
}

int gmatch_next(lua_State* L) {
    const std::string_view subject = text_argument(L, lua_upvalueindex(1));
    const Pattern pattern = pattern_argument(L, text_argument(L, lua_upvalueindex(2)));
    const lua_Integer last = lua_tointeger(L, lua_upvalueindex(4));
    auto at = static_cast<std::size_t>(lua_tointeger(L, lua_upvalueindex(3)));
    for (; at <= subject.size(); ++at) {
        const auto found = search(L, pattern, subject, at, true);
        if (!found || static_cast<lua_Integer>(found->end) == last) {
            if (at % 4096 == 0) LuaState::of(L).check_time(L);
            continue;
        }
        lua_pushinteger(L, static_cast<lua_Integer>(found->end));
        lua_pushvalue(L, -1);
        lua_replace(L, lua_upvalueindex(3));
        lua_replace(L, lua_upvalueindex(4));
        return push_captures(L, subject, *found, true);
    }
    return 0;
}

int gmatch(lua_State* L) {
    const std::string_view subject = text_argument(L, 1);
    pattern_argument(L, text_argument(L, 2));
    const std::size_t start = std::min(start_argument(L, 3, subject.size()), subject.size() + 1);
    lua_settop(L, 2);
    lua_pushinteger(L, static_cast<lua_Integer>(start));
    lua_pushinteger(L, -1);
    lua_pushcclosure(L, gmatch_next, 4);
    return 1;
}

void push_replacement(lua_State* L, std::string_view subject, const Pattern::Match& match) {
    const int type = lua_type(L, 3);
    if (type == LUA_TTABLE) {
        push_capture(L, subject, match, 0);
        lua_gettable(L, 3);
    } else if (type == LUA_TFUNCTION) {
        lua_pushvalue(L, 3);
        lua_call(L, push_captures(L, subject, match, true), 1);
    } else {
        const std::string_view form = text_argument(L, 3);
        std::string text;
        for (std::size_t i = 0; i < form.size(); ++i) {
            if (static_cast<std::int64_t>(text.size()) > LuaState::of(L).largest_block_bytes()) raise(L, "resulting string too large");
            if (form[i] != '%') {
                text += form[i];
                continue;
            }
            const char next = ++i < form.size() ? form[i] : '\0';
            if (next == '%') {
                text += '%';
            } else if (next == '0') {
                text += subject.substr(match.begin, match.end - match.begin);
            } else if (next >= '1' && next <= '9') {
                const auto index = static_cast<std::size_t>(next - '1');
                if (index >= std::max<std::size_t>(match.captures.size(), 1)) {
                    raise(L, std::string{"invalid capture index %"} + next + " in replacement string");
                }
                push_capture(L, subject, match, index);
                text += text_argument(L, -1);
                lua_pop(L, 1);
            } else {
                raise(L, "invalid use of '%' in replacement string");
            }
        }
        lua_pushlstring(L, text.data(), text.size());
    }
}

int gsub(lua_State* L) {
    const std::string_view subject = text_argument(L, 1);
    std::string_view text = text_argument(L, 2);
    const int type = lua_type(L, 3);
    if (type != LUA_TNUMBER && type != LUA_TSTRING && type != LUA_TTABLE && type != LUA_TFUNCTION) {
        luaL_typeerror(L, 3, "string/function/table");
    }
    const lua_Integer most = luaL_optinteger(L, 4, static_cast<lua_Integer>(subject.size()) + 1);
    const bool anchored = !text.empty() && text.front() == '^';
    if (anchored) text.remove_prefix(1);
    const Pattern pattern = pattern_argument(L, text);
    std::string result;
    lua_Integer count = 0;
    std::size_t at = 0;
    std::optional<std::size_t> last;
    while (count < most) {
        const auto found = search(L, pattern, subject, at, true);
        if (found && found->end != last) {
            ++count;
            push_replacement(L, subject, *found);
            if (lua_toboolean(L, -1) == 0) {
                result += subject.substr(found->begin, found->end - found->begin);
            } else if (lua_isstring(L, -1) != 0) {
                result += text_argument(L, -1);
            } else {
                raise(L, std::string{"invalid replacement value (a "} + luaL_typename(L, -1) + ")");
            }
            lua_pop(L, 1);
            at = found->end;
            last = at;
        } else if (at < subject.size()) {
            result += subject[at++];
        } else {
            break;
        }
        if (static_cast<std::int64_t>(result.size()) > LuaState::of(L).largest_block_bytes()) raise(L, "resulting string too large");
        if (count % 64 == 0) LuaState::of(L).check_time(L);
        if (anchored) break;
    }
    result += subject.substr(std::min(at, subject.size()));
    lua_pushlstring(L, result.data(), result.size());
    lua_pushinteger(L, count);
    return 2;
}

int rep(lua_State* L) {
    const std::string_view piece = text_argument(L, 1);
    const lua_Integer count = luaL_checkinteger(L, 2);
    const std::string_view separator = lua_isnoneornil(L, 3) ? std::string_view{} : text_argument(L, 3);
    const std::size_t unit = piece.size() + separator.size();
    if (count <= 0 || unit == 0) {
        lua_pushliteral(L, "");
        return 1;
    }
    const auto limit = static_cast<std::size_t>(LuaState::of(L).largest_block_bytes());
    const auto times = static_cast<std::size_t>(count);
    if (unit > limit || times > limit / unit) {
        const double bytes = static_cast<double>(unit) * static_cast<double>(times);
        raise(L, "string.rep: a text of " + format_bytes(static_cast<std::int64_t>(std::min(bytes, 0x1.0p62))) + "; at most " +
                     format_bytes(static_cast<std::int64_t>(limit)) + " are possible here");
    }
    std::string result{piece};
    std::string more = std::string{separator}.append(piece);
    result.reserve(unit * times);
    for (std::size_t left = times - 1; left > 0; left /= 2) {
        if (left % 2 == 1) result += more;
        if (left > 1) more += more;
    }
    lua_pushlstring(L, result.data(), result.size());
    return 1;
}

}  // namespace hpo::script::string_library
