// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/script/lua_state.hpp"
#include "hpo/script/string_library.hpp"

/// The world that a study script sees: Lua's language with the parts of its library that compute, and nothing that
/// reaches the machine, loads code, or runs on after its time.
///
/// Design note: the time limit is an instruction hook that also fires at every call, so what must be bounded by itself is
/// one call of one C function. Therefore the functions that search text are our own (string_library.hpp), those that loop
/// over an index range get checked arguments (`plain_table`), and what could run with the hook off or carry on after an
/// error is left out: `__gc`, `xpcall`, coroutines. A separate process that can be killed would need none of this, but it
/// would put a round trip under each suggestion and a second program under each script.
namespace hpo::script {

/// The interpreter of one script, opened as a sandbox. `print` receives what the script prints.
class Sandbox : public LuaState {
public:
    using Print = std::function<void(std::string_view line)>;

    Sandbox(LuaLimits limits, std::string chunk, Print print) : LuaState{limits, std::move(chunk)}, print_{std::move(print)} {
        call([](lua_State* L) { open(L); });
    }

    /// Makes `require "name"` return the value on top of the stack, which it pops. One module is enough for us.
    void set_module(lua_State* L, const char* name) {
        module_ = name;
        lua_pushstring(L, name);
        lua_insert(L, -2);
        lua_pushcclosure(L, &Sandbox::require_module, 2);
        lua_setglobal(L, "require");
    }

protected:
    /// Keeps what is printed from here on, until it is handed on or dropped.
    void hold_back() {
        held_.clear();
        holds_back_ = true;
    }
    void hand_on() {
        holds_back_ = false;
        for (const std::string& line : std::exchange(held_, {})) {
            if (print_) print_(line);
        }
    }
    void drop() {
        holds_back_ = false;
        for (const std::string& line : std::exchange(held_, {})) printed_bytes_ -= line.size() + 1;
    }

private:
    static constexpr std::size_t max_printed_bytes = std::size_t{64} * 1024;
    static constexpr std::string_view printed_too_much = "(the script printed more than 64 KiB; the rest is left out)";
    static constexpr lua_Integer max_range = lua_Integer{1} << 22U;

    static void open(lua_State* L) {
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
        keep_only(L, math);  // no random: a space depends on nothing but its trial
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

    /// Removes every other member of the table on top.
    static void keep_only(lua_State* L, std::span<const std::string_view> names) {
        for (const std::string& name : text_keys(L, lua_gettop(L))) {
            if (std::find(names.begin(), names.end(), name) != names.end()) continue;
            lua_pushnil(L);
            lua_setfield(L, -2, name.c_str());
        }
    }

    static std::vector<std::string> text_keys(lua_State* L, int table) {
        std::vector<std::string> keys;
        for (lua_pushnil(L); lua_next(L, table) != 0; lua_pop(L, 1)) {
            if (lua_type(L, -2) == LUA_TSTRING) keys.emplace_back(lua_tostring(L, -2));
        }
        return keys;
    }

    /// Makes reading an unknown member of a library an error.
    static void guard_members(lua_State* L, const char* library) {
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

    static std::string name_argument(lua_State* L) {
        return lua_type(L, 2) == LUA_TSTRING ? clipped(lua_tostring(L, 2)) : luaL_typename(L, 2);
    }

    /// Upvalue: the library.
    static int unknown_member(lua_State* L) {
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

    /// Raises unknown_name with the members of a library, or with the globals where `library` is empty.
    [[noreturn]] static void raise_unknown(lua_State* L, const std::string& library, const std::string& kind, const std::string& name) {
        if (library.empty()) lua_pushglobaltable(L);
        else lua_getglobal(L, library.c_str());
        std::vector<std::string> known;
        if (lua_istable(L, -1)) known = text_keys(L, lua_gettop(L));
        std::erase_if(known, [](const std::string& candidate) { return candidate.size() > 40; });
        if (known.size() > 200) known.resize(200);
        std::sort(known.begin(), known.end());
        raise(L, unknown_name(library, kind, name, known).what());
    }

    /// A name that is not defined is a typing error far more often than a question, so reading it is an error.
    static int unknown_global(lua_State* L) {
        static constexpr std::array<std::string_view, 14> left_out{
            "os",     "io",        "debug",  "package",        "load", "loadfile", "loadstring",
            "dofile", "coroutine", "xpcall", "collectgarbage", "warn", "arg",      "jit"};
        const std::string name = name_argument(L);
        if (std::find(left_out.begin(), left_out.end(), name) != left_out.end()) {
            raise(L, "'" + name +
                         "' is not available in a study script, which cannot reach files, processes, clocks or other code: a space depends "
                         "on its trial only");
        }
        const std::string& module = static_cast<Sandbox&>(LuaState::of(L)).module_;
        if (name == module) raise(L, "unknown name '" + name + "'; write local " + name + " = require \"" + name + "\" first");
        raise_unknown(L, "", "name", name);
    }

    /// As Lua's, except that a time-out and what waits for the host are not caught.
    static int protected_call(lua_State* L) {
        luaL_checkany(L, 1);
        lua_pushboolean(L, 1);
        lua_insert(L, 1);
        if (lua_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, 0) == LUA_OK) return lua_gettop(L);
        if (LuaState::of(L).unstoppable()) return lua_error(L);
        lua_pushboolean(L, 0);
        lua_insert(L, -2);
        return 2;
    }

    /// As Lua's, without `__gc`: a finaliser runs with the hook off, and so without end.
    static int set_metatable(lua_State* L) {
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

    static int print_values(lua_State* L) {
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

    /// Table functions loop over index ranges that metamethods, sparse tables (a border is any border) and arguments can
    /// make endless, so the table must be plain and the range bounded.
    static void require_plain(lua_State* L, int index) {
        if (lua_type(L, index) != LUA_TTABLE) return;  // the function itself says what it expects
        if (lua_getmetatable(L, index) != 0) raise(L, "the table functions take tables without a metatable here");
        if (lua_rawlen(L, index) > static_cast<lua_Unsigned>(max_range)) raise(L, "the table is too long for a table function");
    }

    /// Upvalue of these three: the function of Lua's library that does the work, as if it had been called itself.
    static int plain_table(lua_State* L) {
        require_plain(L, 1);
        return lua_tocfunction(L, lua_upvalueindex(1))(L);
    }
    static int move_table(lua_State* L) {
        require_plain(L, 1);
        require_plain(L, 5);
        const lua_Integer first = luaL_checkinteger(L, 2);
        const lua_Integer last = luaL_checkinteger(L, 3);
        if (last > first && static_cast<lua_Unsigned>(last) - static_cast<lua_Unsigned>(first) > static_cast<lua_Unsigned>(max_range)) {
            raise(L, "the range is too long for table.move");
        }
        return lua_tocfunction(L, lua_upvalueindex(1))(L);
    }
    static int sort_table(lua_State* L) {
        require_plain(L, 1);
        if (lua_isnoneornil(L, 2)) {  // a comparison that is a call is seen by the hook
            lua_settop(L, 1);
            lua_pushcfunction(L, &Sandbox::less);
        }
        return lua_tocfunction(L, lua_upvalueindex(1))(L);
    }

    static int less(lua_State* L) {
        lua_pushboolean(L, lua_compare(L, 1, 2, LUA_OPLT));
        return 1;
    }

    /// Upvalues: the name, the module.
    static int require_module(lua_State* L) {
        const std::string name = clipped(luaL_checkstring(L, 1));
        const std::string known = lua_tostring(L, lua_upvalueindex(1));
        if (name != known) {
            raise(L, unknown_name("require", "module", name, std::span{&known, 1}).what() +
                         std::string{"; a study script is one file and loads no other code"});
        }
        lua_pushvalue(L, lua_upvalueindex(2));
        return 1;
    }

    Print print_;
    std::size_t printed_bytes_ = 0;
    std::vector<std::string> held_;
    bool holds_back_ = false;
    std::string module_;
};

}  // namespace hpo::script
