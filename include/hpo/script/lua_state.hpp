// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <lua.hpp>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "hpo/core/bytes.hpp"
#include "hpo/core/error.hpp"

namespace hpo::script {

/// What one script may use.
struct LuaLimits {
    std::int64_t memory_bytes = std::int64_t{64} << 20U;  ///< in all; one block (a string, a table's array) gets a sixteenth
    std::chrono::milliseconds time{1500};                 ///< of a processor, for each call into the script
};

/// One Lua interpreter with a memory limit, a time limit, and no way past either.
/// Thread safety: none; one thread at a time.
///
/// Design note: Lua is linked as C++, so a Lua error is an exception that unwinds destructors, but Lua also swallows every
/// exception that reaches a protected call. Hence two rules for C functions: C++ that may throw runs inside `outside`, and
/// host code touches the interpreter only inside `call`.
class LuaState {
public:
    explicit LuaState(LuaLimits limits, std::string chunk) : limits_{limits}, chunk_{std::move(chunk)} {
        state_ = lua_newstate(&LuaState::allocate, this);
        if (!state_) throw std::bad_alloc{};
        *static_cast<LuaState**>(lua_getextraspace(state_)) = this;
        lua_sethook(state_, &LuaState::on_hook, LUA_MASKCALL | LUA_MASKCOUNT, instructions_between_checks);
    }
    LuaState(const LuaState&) = delete;
    LuaState& operator=(const LuaState&) = delete;
    ~LuaState() { lua_close(state_); }

    [[nodiscard]] static LuaState& of(lua_State* L) { return **static_cast<LuaState**>(lua_getextraspace(L)); }
    [[nodiscard]] const LuaLimits& limits() const noexcept { return limits_; }
    [[nodiscard]] std::int64_t largest_block_bytes() const noexcept { return limits_.memory_bytes / 16; }
    [[nodiscard]] std::int64_t used_bytes() const noexcept { return used_bytes_; }
    [[nodiscard]] const std::string& chunk() const noexcept { return chunk_; }
    /// True when the error on its way must reach the host: the time is spent, or a C++ exception waits.
    [[nodiscard]] bool unstoppable() const noexcept { return spent_ || pending_; }

    /// Runs `body(lua_State*)` protected and under the time limit. Throws Error{Errc::script, "file:line: what"}, or what
    /// C++ threw inside `outside` or `body`.
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

    /// For C functions: runs `work`, which must not touch Lua. Whatever it throws goes on to the host as it is; the script
    /// cannot catch it.
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

    /// Raises the time-out once the time of this call is over. Every C function that can run long asks.
    void check_time(lua_State* L) {
        if (Clock::now() < deadline_) return;
        // The clock on the wall is cheap to ask, and first to be over; on a busy machine the script had less of a processor than that.
        if (const auto left = limits_.time - (processor_time() - begun_); left.count() > 0) {
            deadline_ = Clock::now() + left;
            return;
        }
        spent_ = true;
        lua_pushfstring(L, "%s: ran longer than the %d ms that a call into a script may take", place(L).c_str(),
                        static_cast<int>(limits_.time.count()));
        lua_error(L);
    }

    /// "file:line" of the innermost Lua function that runs, or the file.
    [[nodiscard]] std::string place(lua_State* L) const {
        lua_Debug frame{};
        for (int level = 0; lua_getstack(L, level, &frame) == 1; ++level) {
            lua_getinfo(L, "Sl", &frame);
            if (frame.currentline > 0) return chunk_ + ":" + std::to_string(frame.currentline);
        }
        return chunk_;
    }

private:
    using Clock = std::chrono::steady_clock;
    /// Of this thread: a call into a script stays on one.
    static std::chrono::nanoseconds processor_time() {
        std::timespec time{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
    }
    /// Few, since one of them may copy or compare the longest text that there can be.
    static constexpr int instructions_between_checks = 50;

    template <class Body>
    static int enter(lua_State* L) {
        auto& body = *static_cast<Body*>(lua_touserdata(L, 1));
        lua_settop(L, 0);
        try {
            body(L);
        } catch (const std::exception&) {  // Lua's own errors are not of this type and go on
            of(L).pending_ = std::current_exception();
        }
        if (of(L).pending_) {
            lua_pushliteral(L, "left for the host");
            lua_error(L);
        }
        return 0;
    }

    static void on_hook(lua_State* L, lua_Debug* /*at*/) { of(L).check_time(L); }

    /// Runs at the point of the error, with the hook off: it must not run any code of the script (no __tostring).
    static int on_error(lua_State* L) {
        const LuaState& self = of(L);
        std::string text;
        if (lua_type(L, 1) == LUA_TSTRING) text = lua_tostring(L, 1);
        else text = std::string{"raised a "} + luaL_typename(L, 1) + "; expected a text for error";
        const std::string shown = self.shown_chunk() + ":";
        if (text.starts_with(shown)) text = self.chunk_ + ":" + text.substr(shown.size());
        else if (!text.starts_with(self.chunk_)) text = self.place(L) + ": " + text;
        lua_pushlstring(L, text.data(), text.size());
        return 1;
    }

    /// The chunk as Lua writes it in its messages: cut at the front when it is long.
    [[nodiscard]] std::string shown_chunk() const {
        return chunk_.size() < LUA_IDSIZE ? chunk_ : "..." + chunk_.substr(chunk_.size() - (LUA_IDSIZE - 4));
    }

    [[nodiscard]] std::string failure_text(int status) const {
        if (status == LUA_ERRMEM && refused_depth_ >= deep_calls) {
            return refused_place_ + ": stack overflow: " + std::to_string(refused_depth_) +
                   " calls deep, which looks like endless recursion; " + format_bytes(refused_bytes_) +
                   " more were asked for; a script may use " + format_bytes(limits_.memory_bytes) + ", " +
                   format_bytes(largest_block_bytes()) + " of them at once";
        }
        if (status == LUA_ERRMEM) {
            return refused_place_ + ": out of memory: " + format_bytes(refused_bytes_) + " more were asked for; a script may use " +
                   format_bytes(limits_.memory_bytes) + ", " + format_bytes(largest_block_bytes()) + " of them at once";
        }
        std::string text = lua_type(state_, -1) == LUA_TSTRING ? lua_tostring(state_, -1) : chunk_ + ": failed in an unknown way";
        for (char& c : text) {
            if (static_cast<unsigned char>(c) < 0x20) c = ' ';
        }
        if (text.ends_with("stack overflow")) text += ", which looks like endless recursion";
        return text;
    }

    static void* allocate(void* owner, void* block, std::size_t old_size, std::size_t new_size) {
        auto& self = *static_cast<LuaState*>(owner);
        const auto held = static_cast<std::int64_t>(block ? old_size : 0);
        if (new_size == 0) {
            std::free(block);
            self.used_bytes_ -= held;
            return nullptr;
        }
        const auto wanted = new_size > (std::size_t{1} << 62U) ? std::int64_t{1} << 62U : static_cast<std::int64_t>(new_size);
        if (wanted > held && (wanted > self.largest_block_bytes() || self.used_bytes_ - held + wanted > self.limits_.memory_bytes)) {
            self.refused_bytes_ = wanted;
            if (self.state_) {  // these read the call stack, and allocate nothing in Lua
                self.refused_place_ = self.place(self.state_);
                self.refused_depth_ = depth(self.state_);
            }
            return nullptr;
        }
        void* moved = std::realloc(block, new_size);
        if (moved) self.used_bytes_ += wanted - held;
        return moved;
    }

    /// Functions that have been called and have not returned.
    static int depth(lua_State* L) {
        lua_Debug frame{};
        int above = 1;
        while (lua_getstack(L, above, &frame) == 1) above *= 2;
        int level = above / 2;  // the deepest that is known to be there
        while (above - level > 1) {
            const int middle = level + (above - level) / 2;
            (lua_getstack(L, middle, &frame) == 1 ? level : above) = middle;
        }
        return level + 1;
    }
    /// Calls that are nested on purpose are fewer. A stack of the widest functions is refused at some 600.
    static constexpr int deep_calls = 200;

    LuaLimits limits_;
    std::string chunk_;
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

/// Raises a Lua error `file:line: text`; for C functions that the script calls.
[[noreturn]] inline void raise(lua_State* L, const std::string& text) {
    const std::string full = LuaState::of(L).place(L) + ": " + text;
    lua_pushlstring(L, full.data(), full.size());
    lua_error(L);
    std::abort();  // lua_error does not return
}

/// A name of the script's as an error message may repeat it: at most 80 bytes.
[[nodiscard]] inline std::string clipped(std::string_view name) {
    return std::string{name.substr(0, 80)} + (name.size() > 80 ? "..." : "");
}

/// "a string", "nothing", "a table": what an error message says about a value of the wrong type.
[[nodiscard]] inline std::string type_text(lua_State* L, int index) {
    const int type = lua_type(L, index);
    if (type == LUA_TSTRING && lua_rawlen(L, index) > 1024) {
        return "a string of " + format_bytes(static_cast<std::int64_t>(lua_rawlen(L, index)));
    }
    return type <= LUA_TNIL ? "nothing" : std::string{"a "} + lua_typename(L, type);
}

}  // namespace hpo::script
