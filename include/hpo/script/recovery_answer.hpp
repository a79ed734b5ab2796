// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/recovery/concept.hpp"
#include "hpo/script/lua_value.hpp"
#include "hpo/script/read_only.hpp"

/// The arguments of a rule (on_oom, on_failure) and its possible answers: hpo.retry, hpo.prune, hpo.fail, or no answer.
namespace hpo::script::recovery_answer {

inline constexpr const char* answer_type = "answer";
inline constexpr const char* failure_type = "failure";
inline constexpr const char* plan_type = "plan";

/// What a rule may read of a failure and of a plan: the members of these records, and what follows from them.
[[nodiscard]] const std::vector<std::string>& failure_members();
[[nodiscard]] const std::vector<std::string>& plan_members();

/// The members that hpo.retry may set: the plan without the trial's parameters, and how to continue.
[[nodiscard]] const std::vector<std::string_view>& retry_members();

/// The result for a missing member: nil if the name is known, else an error, because it is probably a typing error. Upvalue: the owner.
template <auto members>
int unknown_member(lua_State* L) {
    const std::string name = lua_type(L, 2) == LUA_TSTRING ? clipped(lua_tostring(L, 2)) : type_text(L, 2);
    if (std::ranges::find(members(), name) == members().end()) {
        const std::string owner = lua_tostring(L, lua_upvalueindex(1));
        raise(L, unknown_name(owner, "member", name, members()).what());
    }
    lua_pushnil(L);
    return 1;
}

inline int failure_assigned(lua_State* L) {
    read_only::raise_assigned(L, failure_type, "it says what happened; a rule answers with hpo.retry, hpo.prune or hpo.fail");
}
int plan_assigned(lua_State* L);
inline int answer_member(lua_State* L) { raise(L, "an answer has no members that a rule could read; expected return hpo.retry { ... }"); }
inline int answer_assigned(lua_State* L) {
    read_only::raise_assigned(L, answer_type, "an answer is complete; expected all changes in the table of hpo.retry { ... }");
}

void install(lua_State* L);

/// Pushes the failure. Unknown figures are nil, except that `fragmentation` is 0 without evidence. `neighbours` is a list of the other
/// processes on the device, each with `pid`, `bytes` and, if known, `program`.
void push_failure(lua_State* L, const FailedAttempt& failed);

void push_plan(lua_State* L, const ExecutionPlan& plan);

/// Sets a parameter to the value at the top of the stack. A parameter that the trial's space asked for keeps its distribution. Any other
/// one gets a distribution with this value as its only choice. The trainer's own list decides whether it has the parameter and accepts the
/// value.
void change_param(lua_State* L, const std::string& place, const std::string& name, const ParamSet& asked, ParamSet& changed);

/// Reads `wait`, `timeout` and `interval`. What is left out is as in the ladder's rung `wait`.
void read_wait(lua_State* L, const Fields& given, const std::string& place, Recovery& recovery);

/// Applies the table of hpo.retry at `index` to `recovery`, which holds the failed plan. Without an attempt, the table is only checked.
void read_retry(lua_State* L, int index, Recovery& recovery, const FailedAttempt* failed);

int tagged(lua_State* L, const char* action);
int retry(lua_State* L);
int with_reason(lua_State* L, const char* action);
inline int prune(lua_State* L) { return with_reason(L, "prune"); }
inline int fail(lua_State* L) { return with_reason(L, "fail"); }

/// A rule of the script: "on_oom", and where its function begins.
struct Rule {
    const char* name;
    std::string place;
};

/// The answer that the rule returned. Returns nullopt for nil and false. A retry that changes nothing has a note with its place.
std::optional<Recovery> read(lua_State* L, int index, const Rule& rule, const FailedAttempt& failed);

}  // namespace hpo::script::recovery_answer
