// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/script/lua_state.hpp"

/// What a study script can use: Lua's language, the parts of its library that compute, and Lua files that it requires. It cannot reach the
/// machine, or run longer than its time.
///
/// Design note: the time limit is an instruction hook, which also runs at every call. So a single call of one C function must be bounded in
/// itself. Functions that search text are our own (string_library.hpp). Functions that loop over an index range get checked arguments
/// (`plain_table`). Left out is what could run with the hook off or continue after an error: `__gc`, `xpcall`, coroutines. A separate
/// process that can be killed would need none of this. But it would add a round trip to each suggestion and a second program to each
/// script.
namespace hpo::script {

/// The interpreter of one script, set up as a sandbox. `print` receives what the script prints.
class Sandbox : public LuaState {
public:
    using Print = std::function<void(std::string_view line)>;

    Sandbox(LuaLimits limits, std::string chunk, Print print) : LuaState{limits, std::move(chunk)}, print_{std::move(print)} {
        call([](lua_State* L) { open(L); });
    }

    /// A Lua file that `require` found.
    struct File {
        std::string name;  ///< for messages
        std::string text;
    };
    /// Finds the file of a module. Returns nullopt if there is none. It may throw Error.
    using FindFile = std::function<std::optional<File>(const std::string& module)>;

    /// Makes `require "name"` return the value on top of the stack, which is popped. Other names are files that `find_file` finds. Each is
    /// run once, in this sandbox, and `require` returns what it returns. If `find_file` is empty, there are no others.
    void set_module(lua_State* L, const char* name, FindFile find_file);

protected:
    /// From here on, keeps what is printed until it is released or dropped.
    void hold_back() {
        held_.clear();
        holds_back_ = true;
    }
    void hand_on();
    void drop() {
        holds_back_ = false;
        for (const std::string& line : std::exchange(held_, {})) printed_bytes_ -= line.size() + 1;
    }

private:
    static constexpr std::size_t max_printed_bytes = std::size_t{64} * 1024;
    static constexpr std::string_view printed_too_much = "(the script printed more than 64 KiB; the rest is left out)";
    static constexpr lua_Integer max_range = lua_Integer{1} << 22U;

    static void open(lua_State* L);

    /// Removes all other members of the table on top of the stack.
    static void keep_only(lua_State* L, std::span<const std::string_view> names);

    static std::vector<std::string> text_keys(lua_State* L, int table);

    /// Makes reading an unknown member of a library an error.
    static void guard_members(lua_State* L, const char* library);

    static std::string name_argument(lua_State* L) {
        return lua_type(L, 2) == LUA_TSTRING ? clipped(lua_tostring(L, 2)) : luaL_typename(L, 2);
    }

    /// Upvalue: the library.
    static int unknown_member(lua_State* L);

    /// Raises unknown_name. The message lists the members of a library, or the globals if `library` is empty.
    [[noreturn]] static void raise_unknown(lua_State* L, const std::string& library, const std::string& kind, const std::string& name);

    /// Reading an undefined name is an error, because it is far more often a typing error than a question.
    static int unknown_global(lua_State* L);

    /// As Lua's pcall, but a time-out and a pending C++ exception are not caught.
    static int protected_call(lua_State* L);

    /// As Lua's setmetatable, but without `__gc`. A finaliser runs with the hook off, so no time limit would stop it.
    static int set_metatable(lua_State* L);

    static int print_values(lua_State* L);

    /// Table functions loop over index ranges. Metamethods, sparse tables (any border is a valid length) and arguments can make these
    /// endless. So the table must be plain and the range bounded.
    static void require_plain(lua_State* L, int index);

    /// Upvalue of these three: the function of Lua's library that does the work, as if the script had called it itself.
    static int plain_table(lua_State* L) {
        require_plain(L, 1);
        return lua_tocfunction(L, lua_upvalueindex(1))(L);
    }
    static int move_table(lua_State* L);
    static int sort_table(lua_State* L);

    static int less(lua_State* L) {
        lua_pushboolean(L, lua_compare(L, 1, 2, LUA_OPLT));
        return 1;
    }

    /// Upvalues: the name, the module, a table of the files that were run.
    static int require_module(lua_State* L);
    /// Runs the file of the module `name`. Its value is on top of the stack afterwards.
    void run_file(lua_State* L, const std::string& name);

    Print print_;
    std::size_t printed_bytes_ = 0;
    std::vector<std::string> held_;
    bool holds_back_ = false;
    std::string module_;
    FindFile find_file_;
    std::set<std::string> loading_;  ///< modules whose files run now
};

}  // namespace hpo::script
