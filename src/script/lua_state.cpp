// SPDX-License-Identifier: MIT
#include "hpo/script/lua_state.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <lua.hpp>
#include <new>
#include <string>
#include <utility>

#include "hpo/base/bytes.hpp"
#include "script/member_line.hpp"

namespace hpo::script {

LuaState::LuaState(LuaLimits limits, std::string chunk) : limits_{limits}, chunk_{std::move(chunk)} {
    state_ = lua_newstate(&LuaState::allocate, this);
    if (!state_) throw std::bad_alloc{};
    *static_cast<LuaState**>(lua_getextraspace(state_)) = this;
    lua_sethook(state_, &LuaState::on_hook, LUA_MASKCALL | LUA_MASKCOUNT, instructions_between_checks);
}

void LuaState::check_time(lua_State* L) {
    if (Clock::now() < deadline_) return;
    // Wall-clock time is cheap to read, and it passes at least as fast as processor time. On a busy machine the script had less processor
    // time. Then the deadline moves.
    if (const auto left = limits_.time - (processor_time() - begun_); left.count() > 0) {
        deadline_ = Clock::now() + left;
        return;
    }
    spent_ = true;
    lua_pushfstring(L, "%s: ran longer than the %d ms that a call into a script may take", place(L).c_str(),
                    static_cast<int>(limits_.time.count()));
    lua_error(L);
}

std::string LuaState::place(lua_State* L) const {
    lua_Debug frame{};
    for (int level = 0; lua_getstack(L, level, &frame) == 1; ++level) {
        lua_getinfo(L, "Sl", &frame);
        if (frame.currentline <= 0) continue;
        const std::string file = frame.source[0] == '@' ? frame.source + 1 : chunk_;  // the script, or a file that it requires
        const bool is_member = !members_.empty() && file == chunk_;
        return file + ":" + std::to_string(is_member ? member_line(source_, frame.currentline, members_) : frame.currentline);
    }
    return call_place_.empty() ? chunk_ : call_place_;
}

std::chrono::nanoseconds LuaState::processor_time() {
    std::timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

int LuaState::on_error(lua_State* L) {
    const LuaState& self = of(L);
    std::string text;
    if (lua_type(L, 1) == LUA_TSTRING) text = lua_tostring(L, 1);
    else text = std::string{"raised a "} + luaL_typename(L, 1) + "; expected a text for error";
    const std::string place = self.place(L);
    const std::string file = place.substr(0, place.rfind(':'));
    const std::string shown = shown_name(file) + ":";
    if (text.starts_with(shown)) text = file + ":" + text.substr(shown.size());
    else if (!text.starts_with(self.chunk_) && !text.starts_with(file)) text = place + ": " + text;
    lua_pushlstring(L, text.data(), text.size());
    return 1;
}

std::string LuaState::failure_text(int status) const {
    if (status == LUA_ERRMEM && refused_depth_ >= deep_calls) {
        return refused_place_ + ": stack overflow: " + std::to_string(refused_depth_) +
               " calls deep, which looks like endless recursion; " + format_bytes(refused_bytes_) +
               " more were asked for; a script may use " + format_bytes(limits_.memory_bytes) + " in all, " +
               format_bytes(largest_block_bytes()) + " at once";
    }
    if (status == LUA_ERRMEM) {
        return refused_place_ + ": out of memory: " + format_bytes(refused_bytes_) + " more were asked for; a script may use " +
               format_bytes(limits_.memory_bytes) + " in all, " + format_bytes(largest_block_bytes()) + " at once";
    }
    std::string text = lua_type(state_, -1) == LUA_TSTRING ? lua_tostring(state_, -1) : chunk_ + ": failed in an unknown way";
    for (char& c : text) {
        if (static_cast<unsigned char>(c) < 0x20) c = ' ';
    }
    if (text.ends_with("stack overflow")) text += ", which looks like endless recursion";
    return text;
}

void* LuaState::allocate(void* owner, void* block, std::size_t old_size, std::size_t new_size) {
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
        if (self.state_) {  // these read the call stack and allocate no memory in Lua
            self.refused_place_ = self.place(self.state_);
            self.refused_depth_ = depth(self.state_);
        }
        return nullptr;
    }
    void* moved = std::realloc(block, new_size);
    if (moved) self.used_bytes_ += wanted - held;
    return moved;
}

int LuaState::depth(lua_State* L) {
    lua_Debug frame{};
    int above = 1;
    while (lua_getstack(L, above, &frame) == 1) above *= 2;
    int level = above / 2;  // the deepest level that is known to exist
    while (above - level > 1) {
        const int middle = level + (above - level) / 2;
        (lua_getstack(L, middle, &frame) == 1 ? level : above) = middle;
    }
    return level + 1;
}

void raise(lua_State* L, const std::string& text) {
    const std::string full = LuaState::of(L).place(L) + ": " + text;
    lua_pushlstring(L, full.data(), full.size());
    lua_error(L);
    std::abort();  // lua_error does not return
}

std::string type_text(lua_State* L, int index) {
    const int type = lua_type(L, index);
    if (type == LUA_TSTRING && lua_rawlen(L, index) > 1024) {
        return "a string of " + format_bytes(static_cast<std::int64_t>(lua_rawlen(L, index)));
    }
    return type <= LUA_TNIL ? "nothing" : std::string{"a "} + lua_typename(L, type);
}

}  // namespace hpo::script
