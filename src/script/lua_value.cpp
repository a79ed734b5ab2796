// SPDX-License-Identifier: MIT
#include "hpo/script/lua_value.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/base/bytes.hpp"
#include "hpo/script/lua_state.hpp"

namespace hpo::script {

std::optional<Value> to_value(lua_State* L, int index) {
    switch (lua_type(L, index)) {
        case LUA_TNIL: return Value{};
        case LUA_TBOOLEAN: return Value{lua_toboolean(L, index) != 0};
        case LUA_TNUMBER:
            if (lua_isinteger(L, index) != 0) return Value{static_cast<std::int64_t>(lua_tointeger(L, index))};
            return Value{static_cast<double>(lua_tonumber(L, index))};
        case LUA_TSTRING: {
            std::size_t length = 0;
            const char* text = lua_tolstring(L, index, &length);
            if (length > max_text_bytes) return std::nullopt;
            return Value{std::string{text, length}};
        }
        default: return std::nullopt;
    }
}

void push_value(lua_State* L, const Value& value) {
    if (const auto* truth = std::get_if<bool>(&value)) lua_pushboolean(L, *truth ? 1 : 0);
    else if (const auto* whole = std::get_if<std::int64_t>(&value)) lua_pushinteger(L, *whole);
    else if (const auto* real = std::get_if<double>(&value)) lua_pushnumber(L, *real);
    else if (const auto* text = std::get_if<std::string>(&value)) lua_pushlstring(L, text->data(), text->size());
    else lua_pushnil(L);
}

void raise_wrong_type(lua_State* L, int index, const std::string& context, std::string_view what, std::string_view expected) {
    raise(L, context + ": got " + type_text(L, index) + " for " + std::string{what} + "; expected " + std::string{expected});
}

double require_number(lua_State* L, int index, const std::string& context, std::string_view what) {
    if (lua_type(L, index) != LUA_TNUMBER) raise_wrong_type(L, index, context, what, "a number");
    const double value = lua_tonumber(L, index);
    if (std::isnan(value)) raise(L, context + ": got not-a-number for " + std::string{what} + "; expected a number");
    return value;
}

std::int64_t require_whole(lua_State* L, int index, const std::string& context, std::string_view what) {
    if (lua_type(L, index) != LUA_TNUMBER) raise_wrong_type(L, index, context, what, "a whole number");
    int exact = 0;
    const lua_Integer value = lua_tointegerx(L, index, &exact);
    if (exact == 0) {
        raise(L, context + ": got " + display_text(static_cast<double>(lua_tonumber(L, index))) + " for " + std::string{what} +
                     "; expected a whole number");
    }
    return value;
}

std::string require_text(lua_State* L, int index, const std::string& context, std::string_view what) {
    if (lua_type(L, index) != LUA_TSTRING) raise_wrong_type(L, index, context, what, "a string");
    std::size_t length = 0;
    const char* text = lua_tolstring(L, index, &length);
    if (length > max_text_bytes)
        raise(L, context + ": got a string of " + format_bytes(static_cast<std::int64_t>(length)) + " for " + std::string{what} +
                     "; expected at most 64 KiB");
    return {text, length};
}

Fields::Fields(lua_State* L, int index, std::string context, std::span<const std::string_view> known)
    : L_{L}, index_{lua_absindex(L, index)}, context_{std::move(context)} {
    if (lua_type(L, index_) != LUA_TTABLE) raise_wrong_type(L, index_, context_, "the options", "a table such as { name = value }");
    for (lua_pushnil(L); lua_next(L, index_) != 0; lua_pop(L, 1)) {
        const std::string key = lua_type(L, -2) == LUA_TSTRING ? clipped(lua_tostring(L, -2))
                                : lua_isinteger(L, -2) != 0    ? "[" + std::to_string(lua_tointeger(L, -2)) + "]"
                                                               : type_text(L, -2);
        bool found = false;
        for (const std::string_view name : known) found = found || name == key;
        const AtMember at{L, key};
        if (!found) raise(L, unknown_name(context_, "option", key, std::vector<std::string>(known.begin(), known.end())).what());
    }
}

bool Fields::push(const char* name) const {
    lua_pushstring(L_, name);
    lua_rawget(L_, index_);
    if (lua_toboolean(L_, -1) != 0) return true;
    lua_pop(L_, 1);
    return false;
}

std::optional<double> Fields::number(const char* name) const {
    return read(name, [&] { return require_number(L_, -1, context_, name); });
}

std::optional<std::int64_t> Fields::whole(const char* name) const {
    return read(name, [&] { return require_whole(L_, -1, context_, name); });
}

std::optional<std::string> Fields::text(const char* name) const {
    return read(name, [&] { return require_text(L_, -1, context_, name); });
}

std::optional<bool> Fields::truth(const char* name) const {
    lua_pushstring(L_, name);
    lua_rawget(L_, index_);
    const AtMember at{L_, name};
    const int type = lua_type(L_, -1);
    if (type != LUA_TNIL && type != LUA_TBOOLEAN) raise_wrong_type(L_, -1, context_, name, "true or false");
    const std::optional<bool> value = type == LUA_TNIL ? std::nullopt : std::optional{lua_toboolean(L_, -1) != 0};
    lua_pop(L_, 1);
    return value;
}

template <class Read>
auto Fields::read(const char* name, Read&& reader) const -> std::optional<decltype(reader())> {
    if (!push(name)) return std::nullopt;
    const AtMember at{L_, name};
    auto value = reader();
    lua_pop(L_, 1);
    return value;
}

std::vector<Value> require_list(lua_State* L, int index, const std::string& context, std::string_view what) {
    static constexpr lua_Unsigned most = 10000;
    static constexpr std::size_t most_bytes = std::size_t{1} << 20U;
    index = lua_absindex(L, index);
    if (lua_type(L, index) != LUA_TTABLE) raise_wrong_type(L, index, context, what, "a list such as { 8, 16, 32 }");
    std::size_t keys = 0;
    for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) ++keys;
    const lua_Unsigned length = lua_rawlen(L, index);
    if (length != keys)
        raise(L, context + ": got a table with names or gaps for " + std::string{what} + "; expected a list such as { 8, 16, 32 }");
    if (length == 0) raise(L, context + ": got an empty list for " + std::string{what} + "; expected at least one value");
    if (length > most)
        raise(L, context + ": got " + std::to_string(length) + " values for " + std::string{what} + "; expected at most 10000");
    std::vector<Value> values;
    values.reserve(length);
    std::size_t bytes = 0;
    for (lua_Unsigned i = 1; i <= length; ++i) {
        lua_rawgeti(L, index, static_cast<lua_Integer>(i));
        auto value = to_value(L, -1);
        if (!value)
            raise_wrong_type(L, -1, context, "entry " + std::to_string(i) + " of " + std::string{what},
                             "a string, a number, true or false");
        if (const auto* text = std::get_if<std::string>(&*value)) bytes += text->size();
        if (bytes > most_bytes) raise(L, context + ": got more than 1 MiB of text for " + std::string{what});
        values.push_back(std::move(*value));
        lua_pop(L, 1);
    }
    return values;
}

}  // namespace hpo::script
