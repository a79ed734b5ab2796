// SPDX-License-Identifier: MIT
#include "hpo/script/recovery_answer.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "hpo/core/fields.hpp"
#include "hpo/core/plan.hpp"
#include "hpo/failure/signature.hpp"
#include "hpo/failure/traits.hpp"
#include "hpo/recovery/rungs/wait.hpp"
#include "hpo/script/lua_value.hpp"
#include "script/durations.hpp"
#include "script/idle_retry.hpp"
#include "script/plan_member.hpp"

namespace hpo::script::recovery_answer {

const std::vector<std::string_view>& retry_members() {
    static const std::vector<std::string_view> names = [] {
        std::vector<std::string_view> members;
        each_plan_field([&](const auto& field) {
            if (field.role != PlanRole::parameter) members.push_back(field.key);
        });
        members.insert(members.end(),
                       {"fresh_worker", "other_device", "wait", "timeout", "interval", "pause", "alone", "params", "reason"});
        return members;
    }();
    return names;
}

int plan_assigned(lua_State* L) {
    const std::string name = lua_type(L, 2) == LUA_TSTRING ? clipped(lua_tostring(L, 2)) : "micro_batch";
    const auto& members = retry_members();
    const bool can_change = std::find(members.begin(), members.end(), name) != members.end();
    read_only::raise_assigned(L, plan_type,
                              "it says how the attempt ran; expected return hpo.retry { " +
                                  (can_change ? name + " = " + read_only::assigned_text(L) : std::string{"..."}) + " }");
}

void install(lua_State* L) {
    lua_pushcfunction(L, &answer_member);
    lua_pushcfunction(L, &answer_assigned);
    read_only::install(L, answer_type);
    lua_pushstring(L, failure_type);
    lua_pushcclosure(L, &unknown_member<&failure_members>, 1);
    lua_pushcfunction(L, &failure_assigned);
    read_only::install(L, failure_type);
    lua_pushstring(L, plan_type);
    lua_pushcclosure(L, &unknown_member<&plan_members>, 1);
    lua_pushcfunction(L, &plan_assigned);
    read_only::install(L, plan_type);
}

namespace {

template <class T>
void set_field(lua_State* L, const std::string& key, const T& value) {
    if constexpr (std::is_same_v<T, std::vector<MemoryNeighbour>>) {
        lua_createtable(L, static_cast<int>(value.size()), 0);
        for (const MemoryNeighbour& process : value) {
            lua_createtable(L, 0, 3);
            each_field<MemoryNeighbour>([&](const auto& field) { set_field(L, field.key(), process.*field.member); });
            if (process.program.empty()) set_member(L, "program", Value{});
            lua_rawseti(L, -2, static_cast<lua_Integer>(lua_rawlen(L, -2)) + 1);
        }
        lua_setfield(L, -2, key.c_str());
    } else if constexpr (Described<T>) {  // its members stand beside those of its owner
        each_field<T>([&](const auto& field) { set_field(L, field.key(), value.*field.member); });
    } else if constexpr (requires { value.has_value(); }) {
        if (value) set_field(L, key, *value);
    } else if constexpr (std::is_enum_v<T>) {
        set_member(L, key.c_str(), Value{std::string{to_text(value)}});
    } else if constexpr (std::is_same_v<T, int>) {
        set_member(L, key.c_str(), Value{std::int64_t{value}});
    } else {
        set_member(L, key.c_str(), Value{value});
    }
}

template <Described R>
void add_keys(std::vector<std::string>& keys) {
    each_field<R>([&]<class T>(const Field<R, T>& field) {
        if constexpr (Described<T>) add_keys<T>(keys);
        else keys.push_back(field.key());
    });
}

}  // namespace

const std::vector<std::string>& failure_members() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> members;
        add_keys<Failure>(members);
        members.insert(members.end(), {"fragmentation", "attempt", "blame", "recurrence", "sticky", "signature", "other_devices"});
        return members;
    }();
    return names;
}

const std::vector<std::string>& plan_members() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> members;
        add_keys<ExecutionPlan>(members);
        members.emplace_back("accumulation_steps");
        return members;
    }();
    return names;
}

void push_failure(lua_State* L, const FailedAttempt& failed) {
    const Failure& failure = failed.failure;
    const MemoryReading& memory = failure.memory;
    lua_createtable(L, 0, static_cast<int>(failure_members().size()));
    set_field(L, {}, failure);
    if (failure.evidence.empty()) set_member(L, "evidence", Value{});
    double fragmentation = 0;
    if (memory.allocated && memory.reserved && *memory.reserved > *memory.allocated) {
        fragmentation = static_cast<double>(*memory.reserved - *memory.allocated) / static_cast<double>(*memory.reserved);
    }
    set_member(L, "fragmentation", Value{fragmentation});
    set_member(L, "attempt", Value{std::int64_t{failed.attempt.index} + 1});
    const FailureTraits traits = traits_of(failure);
    set_member(L, "blame", Value{std::string{to_text(traits.blame)}});
    set_member(L, "recurrence", Value{std::string{to_text(traits.recurrence)}});
    set_member(L, "sticky", Value{traits.sticky});
    set_member(L, "signature", Value{signature(failure)});
    set_member(L, "other_devices", Value{static_cast<std::int64_t>(failed.other_devices)});
    read_only::wrap(L, failure_type);
}

void push_plan(lua_State* L, const ExecutionPlan& plan) {
    lua_createtable(L, 0, static_cast<int>(plan_members().size()));
    set_field(L, {}, plan);
    set_member(L, "micro_batch", plan.effective_micro_batch());
    set_member(L, "accumulation_steps", Value{plan.accumulation_steps()});
    read_only::wrap(L, plan_type);
}

void change_param(lua_State* L, const std::string& place, const std::string& name, const ParamSet& asked, ParamSet& changed) {
    const auto value = to_value(L, -1);
    const Param* const known = asked.find(name);
    if (!known) {  // an option of the trainer, perhaps, which the space leaves alone
        std::vector<std::string> names;
        for (const Param& param : asked) names.push_back(param.name);
        if (const auto near = nearest_name(name, names); !near.empty())
            raise(L, place + ": parameter '" + clipped(name) + "': the trial has none of this name; did you mean '" + std::string{near} +
                         "'?");
    }
    const auto internal = !value ? std::nullopt : known ? to_internal(*known->distribution, *value) : std::optional{0.0};
    if (!internal) {
        raise(L, place + ": parameter '" + clipped(name) + "': got " + (value ? clipped(display_text(*value)) : type_text(L, -1)) +
                     "; expected " + (known ? describe(*known->distribution) : "a number, a text, true or false"));
    }
    if (known) changed.set(Param{known->name, known->distribution, *internal});
    else changed.set(name, CategoricalDistribution{{*value}}, *internal);
}

void read_wait(lua_State* L, const Fields& given, const std::string& place, Recovery& recovery) {
    const bool waits = given.truth("wait").value_or(false);
    if (waits) {
        constexpr recovery::Wait standard;
        recovery.wait_seconds = standard.timeout_seconds;
        recovery.wait_interval_seconds = standard.interval_seconds;
    }
    const auto duration = [&](const std::string& name) -> std::optional<double> {
        if (!given.push(name.c_str())) return std::nullopt;
        const double seconds = require_duration(L, place + ": " + name);
        lua_pop(L, 1);
        return seconds;
    };
    const auto of_wait = [&](const std::string& name, const char* says) {
        const auto seconds = duration(name);
        if (seconds && !waits) raise(L, place + ": " + name + " says " + says + "; expected wait = true beside it");
        return seconds;
    };
    if (const auto seconds = duration("pause")) recovery.pause_seconds = *seconds;
    if (const auto seconds = of_wait("timeout", "how long wait = true waits")) recovery.wait_seconds = *seconds;
    if (const auto seconds = of_wait("interval", "how often wait = true looks")) {
        recovery.wait_interval_seconds = *seconds;
        if (*seconds > *recovery.wait_seconds)
            raise(L, place + ": interval: got " + display_text(*seconds) + " s; expected at most the timeout, " +
                         display_text(*recovery.wait_seconds) + " s");
    }
}

void read_retry(lua_State* L, int index, Recovery& recovery, const FailedAttempt* failed) {
    const std::string place = "hpo.retry";
    const Fields given{L, index, place, retry_members()};
    each_plan_field([&](const auto& field) {
        if (field.role != PlanRole::parameter) read_plan_member(L, given, place, field, recovery.plan);
    });
    recovery.fresh_worker = given.truth("fresh_worker").value_or(false);
    read_wait(L, given, place, recovery);
    recovery.alone = given.truth("alone").value_or(false);
    recovery.other_device = given.truth("other_device").value_or(false);
    recovery.reason = given.text("reason").value_or("");
    if (!given.push("params")) return;
    if (lua_type(L, -1) != LUA_TTABLE) raise_wrong_type(L, -1, place, "params", "a table such as { [\"tok.max_length\"] = 256 }");
    if (!failed) return lua_pop(L, 1);
    ParamSet changed = params_of(failed->trial, failed->attempt);
    const int table = lua_gettop(L);
    for (lua_pushnil(L); lua_next(L, table) != 0; lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING) raise_wrong_type(L, -2, place, "the name of a parameter", "a text");
        change_param(L, place, lua_tostring(L, -2), failed->trial.params, changed);
    }
    lua_pop(L, 1);
    recovery.params = std::move(changed);
}

int tagged(lua_State* L, const char* action) {
    lua_createtable(L, 2, 0);  // numbered, because a rule has no name for them
    lua_pushstring(L, action);
    lua_rawseti(L, -2, 1);
    lua_pushvalue(L, 1);
    lua_rawseti(L, -2, 2);
    lua_pushstring(L, LuaState::of(L).place(L).c_str());
    lua_rawseti(L, -2, 3);
    read_only::wrap(L, answer_type);
    return 1;
}

int retry(lua_State* L) {
    if (lua_type(L, 1) != LUA_TTABLE) raise_wrong_type(L, 1, "hpo.retry", "the changes", "a table such as { micro_batch = 8 }");
    Recovery checked_here;
    read_retry(L, 1, checked_here, nullptr);
    return tagged(L, "retry");
}

int with_reason(lua_State* L, const char* action) {
    if (require_text(L, 1, std::string{"hpo."} + action, "the reason").empty())
        raise(L, std::string{"hpo."} + action + ": expected a reason");
    return tagged(L, action);
}

std::optional<Recovery> read(lua_State* L, int index, const Rule& rule, const FailedAttempt& failed) {
    const char* const name = rule.name;
    const auto raise_at = [&](const std::string& text) {  // the rule is over, so the stack does not show its place
        lua_pushlstring(L, text.data(), text.size());
        lua_error(L);
    };
    index = lua_absindex(L, index);
    if (lua_toboolean(L, index) == 0) return std::nullopt;
    if (!luaL_testudata(L, index, answer_type)) {
        raise_at(rule.place + ": " + name + ": got " + type_text(L, index) +
                 " for the answer; expected hpo.retry { ... }, hpo.prune \"reason\", hpo.fail \"reason\" or nil");
    }
    read_only::push_table(L, index);
    lua_rawgeti(L, -1, 1);
    const std::string action = require_text(L, -1, name, "the answer");
    lua_rawgeti(L, -2, 2);
    lua_rawgeti(L, -3, 3);
    const std::string place = lua_tostring(L, -1);
    lua_pop(L, 1);
    const AfterCall after{L, place};
    Recovery recovery;
    recovery.plan = failed.attempt.plan;
    recovery.place = place;
    if (action == "retry") {
        recovery.action = Recovery::Action::retry;
        read_retry(L, -1, recovery, &failed);
        if (!recovery.params) recovery.params = failed.attempt.changed_params;
        if (changes_nothing(failed, recovery)) {
            recovery.note = place + ": " + name + ": " + idle_note(failed, recovery);
        } else if (const Attempt* earlier = failed_so(failed, recovery)) {
            const auto micro = earlier->plan.effective_micro_batch();
            const std::string text = place + ": " + name + ": hpo.retry returns to the plan of attempt " +
                                     std::to_string(earlier->index + 1) +
                                     (micro ? " (micro-batch " + std::to_string(*micro) + ")" : std::string{}) +
                                     ", which ran out of memory; expected a plan that was not tried, such as a smaller micro-batch";
            raise_at(text);
        }
    } else {
        recovery.action = action == "prune" ? Recovery::Action::prune : Recovery::Action::fail;
        recovery.reason = require_text(L, -1, name, "the reason");
        recovery.is_reason_of_rule = true;
    }
    return recovery;
}

}  // namespace hpo::script::recovery_answer
