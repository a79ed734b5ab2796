// SPDX-License-Identifier: MIT
#include "hpo/script/sandbox.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "script/string_library.hpp"

namespace hpo::script {

void Sandbox::set_module(lua_State* L, const char* name, FindFile find_file) {
    module_ = name;
    find_file_ = std::move(find_file);
    lua_pushstring(L, name);
    lua_insert(L, -2);
    lua_newtable(L);
    lua_pushcclosure(L, &Sandbox::require_module, 3);
    lua_setglobal(L, "require");
}

void Sandbox::hand_on() {
    holds_back_ = false;
    for (const std::string& line : std::exchange(held_, {})) {
        if (print_) print_(line);
    }
}

void Sandbox::open(lua_State* L) {
    static constexpr std::array<std::string_view, 18> base{"_G",     "_VERSION", "assert",   "error",  "getmetatable", "ipairs",
                                                           "next",   "pairs",    "rawequal", "rawget", "rawlen",       "rawset",
                                                           "select", "tonumber", "tostring", "type",   "print",        "setmetatable"};
    static constexpr std::array<std::string_view, 13> string{"byte",  "char", "find",  "format",  "gmatch", "gsub", "len",
                                                             "match", "rep",  "lower", "reverse", "sub",    "upper"};
    static constexpr std::array<std::string_view, 24> math{"abs",   "acos", "asin", "atan", "ceil", "cos", "deg",        "exp",
                                                           "floor", "fmod", "huge", "log",  "max",  "min", "maxinteger", "mininteger",
                                                           "modf",  "pi",   "rad",  "sin",  "sqrt", "tan", "tointeger",  "type"};
    luaL_requiref(L, LUA_GNAME, luaopen_base, 1);
    keep_only(L, base);
    luaL_requiref(L, LUA_STRLIBNAME, luaopen_string, 1);
    keep_only(L, string);
    luaL_requiref(L, LUA_MATHLIBNAME, luaopen_math, 1);
    keep_only(L, math);  // no random: a space must depend on its trial alone
    luaL_requiref(L, LUA_UTF8LIBNAME, luaopen_utf8, 1);
    luaL_requiref(L, LUA_TABLIBNAME, luaopen_table, 1);
    static constexpr luaL_Reg own_table[] = {{"concat", &Sandbox::plain_table}, {"insert", &Sandbox::plain_table},
                                             {"remove", &Sandbox::plain_table}, {"unpack", &Sandbox::plain_table},
                                             {"move", &Sandbox::move_table},    {"sort", &Sandbox::sort_table}};
    for (const luaL_Reg& entry : own_table) {
        lua_getfield(L, -1, entry.name);
        lua_pushcclosure(L, entry.func, 1);
        lua_setfield(L, -2, entry.name);
    }
    lua_getglobal(L, LUA_STRLIBNAME);
    static constexpr luaL_Reg own_string[] = {{"find", string_library::find},     {"match", string_library::match},
                                              {"gmatch", string_library::gmatch}, {"gsub", string_library::gsub},
                                              {"rep", string_library::rep},       {nullptr, nullptr}};
    luaL_setfuncs(L, own_string, 0);
    for (const char* library : {LUA_STRLIBNAME, LUA_MATHLIBNAME, LUA_UTF8LIBNAME, LUA_TABLIBNAME}) guard_members(L, library);
    lua_pushglobaltable(L);
    static constexpr luaL_Reg own_base[] = {{"pcall", &Sandbox::protected_call},
                                            {"setmetatable", &Sandbox::set_metatable},
                                            {"print", &Sandbox::print_values},
                                            {nullptr, nullptr}};
    luaL_setfuncs(L, own_base, 0);
    lua_createtable(L, 0, 2);
    lua_pushcfunction(L, &Sandbox::unknown_global);
    lua_setfield(L, -2, "__index");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
    lua_pushliteral(L, "");
    lua_getmetatable(L, -1);
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");  // the metatable of all strings
    lua_settop(L, 0);
}

void Sandbox::keep_only(lua_State* L, std::span<const std::string_view> names) {
    for (const std::string& name : text_keys(L, lua_gettop(L))) {
        if (std::find(names.begin(), names.end(), name) != names.end()) continue;
        lua_pushnil(L);
        lua_setfield(L, -2, name.c_str());
    }
}

std::vector<std::string> Sandbox::text_keys(lua_State* L, int table) {
    std::vector<std::string> keys;
    for (lua_pushnil(L); lua_next(L, table) != 0; lua_pop(L, 1)) {
        if (lua_type(L, -2) == LUA_TSTRING) keys.emplace_back(lua_tostring(L, -2));
    }
    return keys;
}

void Sandbox::guard_members(lua_State* L, const char* library) {
    lua_getglobal(L, library);
    lua_createtable(L, 0, 2);
    lua_pushstring(L, library);
    lua_pushcclosure(L, &Sandbox::unknown_member, 1);
    lua_setfield(L, -2, "__index");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
    lua_pop(L, 1);
}

int Sandbox::unknown_member(lua_State* L) {
    const std::string library = lua_tostring(L, lua_upvalueindex(1));
    const std::string name = name_argument(L);
    if (library == LUA_MATHLIBNAME && (name == "random" || name == "randomseed")) {
        raise(L, "math." + name + " is not available: a space depends on its trial only, and a sampler draws its values");
    }
    if (library == LUA_STRLIBNAME && (name == "dump" || name == "pack" || name == "unpack" || name == "packsize")) {
        raise(L, "string." + name + " is not available in a study script");
    }
    raise_unknown(L, library, library == LUA_STRLIBNAME ? "function of a string" : "function", name);
}

void Sandbox::raise_unknown(lua_State* L, const std::string& library, const std::string& kind, const std::string& name) {
    if (library.empty()) lua_pushglobaltable(L);
    else lua_getglobal(L, library.c_str());
    std::vector<std::string> known;
    if (lua_istable(L, -1)) known = text_keys(L, lua_gettop(L));
    std::erase_if(known, [](const std::string& candidate) { return candidate.size() > 40; });
    if (known.size() > 200) known.resize(200);
    std::sort(known.begin(), known.end());
    raise(L, unknown_name(library, kind, name, known).what());
}

int Sandbox::unknown_global(lua_State* L) {
    static constexpr std::array<std::string_view, 14> left_out{"os",         "io",     "debug",     "package", "load",           "loadfile",
                                                               "loadstring", "dofile", "coroutine", "xpcall",  "collectgarbage", "warn",
                                                               "arg",        "jit"};
    const std::string name = name_argument(L);
    if (std::find(left_out.begin(), left_out.end(), name) != left_out.end()) {
        raise(L, "'" + name +
                     "' is not available in a study script, which cannot reach files, processes, clocks or other code: a space depends "
                     "on its trial only");
    }
    const std::string& module = static_cast<Sandbox&>(LuaState::of(L)).module_;
    if (name == module) raise(L, "unknown name '" + name + "'; write local " + name + " = require \"" + name + "\" first");
    static constexpr std::array<std::array<std::string_view, 2>, 5> other_languages{
        {{"True", "true"}, {"False", "false"}, {"None", "nil"}, {"null", "nil"}, {"NULL", "nil"}}};
    for (const auto& [word, in_lua] : other_languages) {
        if (name == word) raise(L, "unknown name '" + name + "'; did you mean '" + std::string{in_lua} + "'?");
    }
    raise_unknown(L, "", "name", name);
}

int Sandbox::protected_call(lua_State* L) {
    luaL_checkany(L, 1);
    lua_pushboolean(L, 1);
    lua_insert(L, 1);
    if (lua_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, 0) == LUA_OK) return lua_gettop(L);
    if (LuaState::of(L).unstoppable()) return lua_error(L);
    lua_pushboolean(L, 0);
    lua_insert(L, -2);
    return 2;
}

int Sandbox::set_metatable(lua_State* L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    if (!lua_isnil(L, 2)) {
        luaL_checktype(L, 2, LUA_TTABLE);
        lua_pushliteral(L, "__gc");
        lua_rawget(L, 2);
        if (!lua_isnil(L, -1)) raise(L, "setmetatable: '__gc' is not available in a study script");
        lua_pop(L, 1);
    }
    if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL) raise(L, "setmetatable: the metatable is protected");
    lua_settop(L, 2);
    lua_setmetatable(L, 1);
    return 1;
}

int Sandbox::print_values(lua_State* L) {
    auto& self = static_cast<Sandbox&>(LuaState::of(L));
    std::string line;
    for (int i = 1, count = lua_gettop(L); i <= count && line.size() < max_printed_bytes; ++i) {
        std::size_t length = 0;
        const char* text = luaL_tolstring(L, i, &length);
        line.append(i > 1 ? "\t" : "").append(text, std::min(length, max_printed_bytes));
        lua_pop(L, 1);
    }
    if (self.printed_bytes_ >= max_printed_bytes) return 0;
    self.printed_bytes_ += line.size() + 1;
    if (self.printed_bytes_ >= max_printed_bytes) {
        self.printed_bytes_ += printed_too_much.size() - line.size();
        line = printed_too_much;
    }
    outside(L, [&] {
        if (self.holds_back_) self.held_.push_back(line);
        else if (self.print_) self.print_(line);
    });
    return 0;
}

void Sandbox::require_plain(lua_State* L, int index) {
    if (lua_type(L, index) != LUA_TTABLE) return;  // the function itself says what it expected
    if (lua_getmetatable(L, index) != 0) raise(L, "the table functions take tables without a metatable here");
    if (lua_rawlen(L, index) > static_cast<lua_Unsigned>(max_range)) raise(L, "the table is too long for a table function");
}

int Sandbox::move_table(lua_State* L) {
    require_plain(L, 1);
    require_plain(L, 5);
    const lua_Integer first = luaL_checkinteger(L, 2);
    const lua_Integer last = luaL_checkinteger(L, 3);
    if (last > first && static_cast<lua_Unsigned>(last) - static_cast<lua_Unsigned>(first) > static_cast<lua_Unsigned>(max_range)) {
        raise(L, "the range is too long for table.move");
    }
    return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

int Sandbox::sort_table(lua_State* L) {
    require_plain(L, 1);
    if (lua_isnoneornil(L, 2)) {  // the hook sees a comparison only if it is a call
        lua_settop(L, 1);
        lua_pushcfunction(L, &Sandbox::less);
    }
    return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

int Sandbox::require_module(lua_State* L) {
    const std::string name = clipped(luaL_checkstring(L, 1));
    const std::string known = lua_tostring(L, lua_upvalueindex(1));
    if (name == known) {
        lua_pushvalue(L, lua_upvalueindex(2));
        return 1;
    }
    if (lua_getfield(L, lua_upvalueindex(3), name.c_str()) != LUA_TNIL) return 1;
    auto& self = static_cast<Sandbox&>(LuaState::of(L));
    if (!self.loading_.insert(name).second)
        raise(L, "require: '" + name + "' requires itself, or a file that requires it; expected files that do not need each other");
    const struct Loading {
        Sandbox& sandbox;
        const std::string& module;
        ~Loading() { sandbox.loading_.erase(module); }
    } loading{self, name};
    self.run_file(L, name);
    lua_pushvalue(L, -1);
    lua_setfield(L, lua_upvalueindex(3), name.c_str());
    return 1;
}

void Sandbox::run_file(lua_State* L, const std::string& name) {
    std::optional<File> file;
    if (find_file_) outside(L, [&] { file = find_file_(name); });
    if (!file) {
        raise(L, unknown_name("require", "module", name, std::span{&module_, 1}).what() +
                     std::string{"; a file of this name has to stand beside the script: "} + name + ".lua");
    }
    if (luaL_loadbufferx(L, file->text.data(), file->text.size(), ("@" + file->name).c_str(), "t") != LUA_OK) lua_error(L);
    lua_call(L, 0, 1);
    if (lua_type(L, -1) != LUA_TTABLE && lua_type(L, -1) != LUA_TFUNCTION)
        raise(L, "require: " + file->name + " returned " + type_text(L, -1) + "; expected a table of functions, or a function");
}

}  // namespace hpo::script
