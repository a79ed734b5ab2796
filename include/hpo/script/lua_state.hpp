// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <lua.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"

namespace hpo::script {

/// The resources that one script may use.
struct LuaLimits {
    std::int64_t memory_bytes = std::int64_t{64} << 20U;  ///< in all; one block (a string, a table's array) may have a sixteenth of it
    std::chrono::milliseconds time{1500};                 ///< processor time for each call into the script
};

/// One Lua interpreter with a memory limit and a time limit that a script cannot get around. Thread safety: none; one thread at a time.
///
/// Design note: Lua is linked as C++, so a Lua error is an exception that unwinds destructors. But Lua also catches every exception that
/// reaches a protected call. So there are two rules for C functions: C++ code that may throw runs inside `outside`, and host code touches
/// the interpreter only inside `call`.
class LuaState {
public:
    explicit LuaState(LuaLimits limits, std::string chunk);
    LuaState(const LuaState&) = delete;
    LuaState& operator=(const LuaState&) = delete;
    ~LuaState() { lua_close(state_); }

    [[nodiscard]] static LuaState& of(lua_State* L) { return **static_cast<LuaState**>(lua_getextraspace(L)); }
    [[nodiscard]] const LuaLimits& limits() const noexcept { return limits_; }
    [[nodiscard]] std::int64_t largest_block_bytes() const noexcept { return limits_.memory_bytes / 16; }
    [[nodiscard]] std::int64_t used_bytes() const noexcept { return used_bytes_; }
    [[nodiscard]] const std::string& chunk() const noexcept { return chunk_; }
    /// True if the current error must reach the host: the time is over, or a C++ exception is pending.
    [[nodiscard]] bool unstoppable() const noexcept { return spent_ || pending_; }

    /// Runs `body(lua_State*)` in protected mode and under the time limit. Throws Error{Errc::script, "file:line: what"}, or the exception
    /// that C++ threw inside `outside` or `body`.
    template <class Body>
    void call(Body&& body) {
        using Plain = std::remove_reference_t<Body>;
        const int top = lua_gettop(state_);
        spent_ = false;
        pending_ = nullptr;
        refused_bytes_ = 0;
        begun_ = processor_time();
        deadline_ = Clock::now() + limits_.time;
        lua_pushcfunction(state_, &LuaState::on_error);
        lua_pushcfunction(state_, &LuaState::enter<Plain>);
        lua_pushlightuserdata(state_, const_cast<std::remove_const_t<Plain>*>(&body));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
        const int status = lua_pcall(state_, 1, 0, top + 1);
        deadline_ = Clock::time_point::max();
        const std::string text = status == LUA_OK ? std::string{} : failure_text(status);
        lua_settop(state_, top);
        if (auto waiting = std::exchange(pending_, nullptr)) std::rethrow_exception(waiting);
        if (status != LUA_OK) throw Error{Errc::script, text};
    }

    /// For C functions: runs `work`, which must not touch Lua. Its exceptions go to the host unchanged. The script cannot catch them.
    template <class Work>
    static void outside(lua_State* L, Work&& work) {
        LuaState& self = of(L);
        try {
            work();
        } catch (...) {
            self.pending_ = std::current_exception();
        }
        if (self.pending_) {
            lua_pushliteral(L, "left for the host");
            lua_error(L);
        }
    }

    /// Raises the time-out error if the time of this call is over. Every C function that can run for long calls this.
    void check_time(lua_State* L);

    /// "file:line" of the innermost running Lua function, else of the call whose result is read (AfterCall), or the file alone. The line is
    /// that of the member that is read (AtMember).
    [[nodiscard]] std::string place(lua_State* L) const;
    /// The text of the script, in which `place` looks for the line of a member.
    void keep_source(std::string_view text) { source_ = text; }

private:
    using Clock = std::chrono::steady_clock;
    /// Processor time of this thread. A call into a script stays on one thread.
    static std::chrono::nanoseconds processor_time();
    /// Few, because one instruction may copy or compare the longest text that is allowed.
    static constexpr int instructions_between_checks = 50;

    template <class Body>
    static int enter(lua_State* L) {
        auto& body = *static_cast<Body*>(lua_touserdata(L, 1));
        lua_settop(L, 0);
        try {
            body(L);
        } catch (const std::exception&) {  // Lua's own errors are of another type and are not caught here
            of(L).pending_ = std::current_exception();
        }
        if (of(L).pending_) {
            lua_pushliteral(L, "left for the host");
            lua_error(L);
        }
        return 0;
    }

    static void on_hook(lua_State* L, lua_Debug* /*at*/) { of(L).check_time(L); }

    /// Runs where the error was raised, with the hook off. So it must not run any code of the script (no __tostring).
    static int on_error(lua_State* L);

    /// A file's name as Lua writes it in messages. A long name loses its beginning.
    [[nodiscard]] static std::string shown_name(const std::string& file) {
        return file.size() < LUA_IDSIZE ? file : "..." + file.substr(file.size() - (LUA_IDSIZE - 4));
    }

    [[nodiscard]] std::string failure_text(int status) const;

    static void* allocate(void* owner, void* block, std::size_t old_size, std::size_t new_size);

    /// The number of calls that have not returned.
    static int depth(lua_State* L);
    /// More nested calls than this are taken for endless recursion. A stack of the widest functions runs out of memory at about 600.
    static constexpr int deep_calls = 200;

    friend class AtMember;
    friend class AfterCall;

    LuaLimits limits_;
    std::string chunk_;
    std::string source_;
    std::vector<std::string> members_;  ///< those that are read now, outermost first
    std::string call_place_;            ///< AfterCall's
    lua_State* state_ = nullptr;
    std::int64_t used_bytes_ = 0;
    std::int64_t refused_bytes_ = 0;
    std::string refused_place_;
    int refused_depth_ = 0;
    Clock::time_point deadline_ = Clock::time_point::max();
    std::chrono::nanoseconds begun_{};  ///< processor_time when the call began
    bool spent_ = false;
    std::exception_ptr pending_;
};

/// While it lives, errors name the line on which the script sets this member of the table that a C function reads.
class AtMember {
public:
    AtMember(lua_State* L, std::string name) : L_{L} { LuaState::of(L_).members_.push_back(std::move(name)); }
    AtMember(const AtMember&) = delete;
    AtMember& operator=(const AtMember&) = delete;
    ~AtMember() { LuaState::of(L_).members_.pop_back(); }

private:
    lua_State* L_;
};

/// While it lives, errors that are raised when no function of the script runs name the place of a call that has returned, "study.lua:7".
class AfterCall {
public:
    AfterCall(lua_State* L, std::string place) : L_{L} { LuaState::of(L_).call_place_ = std::move(place); }
    AfterCall(const AfterCall&) = delete;
    AfterCall& operator=(const AfterCall&) = delete;
    ~AfterCall() { LuaState::of(L_).call_place_.clear(); }

private:
    lua_State* L_;
};

/// Raises a Lua error `file:line: text`; for C functions that the script calls.
[[noreturn]] void raise(lua_State* L, const std::string& text);

/// A name from the script as an error message may repeat it: at most 80 bytes.
[[nodiscard]] inline std::string clipped(std::string_view name) {
    return std::string{name.substr(0, 80)} + (name.size() > 80 ? "..." : "");
}

/// "a string", "nothing", "a table": the words of an error message for a value of the wrong type.
[[nodiscard]] std::string type_text(lua_State* L, int index);

}  // namespace hpo::script
