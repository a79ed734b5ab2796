// SPDX-License-Identifier: MIT
#include "hpo/script/trial_api.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "hpo/script/lua_value.hpp"

namespace hpo::script {

void TrialApi::install(lua_State* L) {
    luaL_newmetatable(L, type_name);
    lua_createtable(L, 0, 4);
    static constexpr luaL_Reg methods[] = {{"float", &TrialApi::suggest_float},
                                           {"int", &TrialApi::suggest_int},
                                           {"categorical", &TrialApi::suggest_categorical},
                                           {"require", &TrialApi::require},
                                           {nullptr, nullptr}};
    lua_pushlightuserdata(L, this);
    luaL_setfuncs(L, methods, 1);
    lua_pushlightuserdata(L, this);
    lua_insert(L, -2);
    lua_pushcclosure(L, &TrialApi::member, 2);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, &TrialApi::member_assigned);
    lua_setfield(L, -2, "__newindex");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 1);
    lua_pushcfunction(L, &TrialApi::not_drawn);
    lua_pushlightuserdata(L, this);
    lua_pushcclosure(L, &TrialApi::param_assigned, 1);
    read_only::install(L, params_type);
}

TrialApi::Scope::Scope(TrialApi& api, SpaceTrial* space, std::int64_t number) : api_{api} {
    ++api_.generation_;
    api_.space_ = space;
    api_.number_ = number;
    api_.choice_bytes_ = 0;
}

void TrialApi::push(lua_State* L, const ParamSet& params) const {
    auto* generation = static_cast<std::uint64_t*>(lua_newuserdatauv(L, sizeof(std::uint64_t), 1));
    *generation = generation_;
    lua_createtable(L, 0, static_cast<int>(params.size()));
    for (const Param& param : params) set_member(L, param.name.c_str(), param.value());
    read_only::wrap(L, params_type);
    lua_setiuservalue(L, -2, 1);
    luaL_setmetatable(L, type_name);
}

TrialApi& TrialApi::open_trial(lua_State* L, const std::string& method) {
    TrialApi& api = self(L);
    const auto* generation = static_cast<const std::uint64_t*>(luaL_testudata(L, 1, type_name));
    if (!generation)
        raise(L, "trial." + method + ": got " + type_text(L, 1) + " for the trial; expected a colon: trial:" + method + "(...)");
    if (*generation != api.generation_) raise(L, "trial:" + method + ": this trial is over; use it only inside the call that received it");
    if (!api.space_) raise(L, "trial:" + method + ": only 'space' draws parameters; here trial.params has them");
    return api;
}

TrialApi::Question TrialApi::question(lua_State* L, const std::string& method) {
    const TrialApi& api = open_trial(L, method);
    const std::string name = require_text(L, 2, "trial:" + method, "the name");
    if (name.empty() || name.size() > max_name_length) {
        raise(L, "trial:" + method + ": got a name of " + std::to_string(name.size()) + " bytes; expected 1 to 512");
    }
    ask(L, [&] { require_parameter_name(name); });
    if (api.space_->params().size() >= max_parameters) raise(L, "trial:" + method + ": more than 1000 parameters in one trial");
    std::string place = "trial:" + method + "(\"" + name + "\")";
    return {*api.space_, name, std::move(place)};
}

template <class Ask>
void TrialApi::ask(lua_State* L, Ask&& work) {
    std::optional<std::string> problem;
    LuaState::outside(L, [&] {
        try {
            work();
        } catch (const Error& error) {
            if (error.code() != Errc::bad_value) throw;
            problem = error.what();
        }
    });
    if (problem) raise(L, *problem);
}

int TrialApi::answer(lua_State* L, const std::string& name) {
    lua_getiuservalue(L, 1, 1);
    read_only::push_table(L, -1);
    lua_pushlstring(L, name.data(), name.size());
    lua_pushvalue(L, -4);
    lua_rawset(L, -3);
    lua_pop(L, 2);
    return 1;
}

int TrialApi::suggest_float(lua_State* L) {
    static constexpr std::array<std::string_view, 4> known{"log", "step", "min", "max"};
    const Question asked = question(L, "float");
    const double low = require_number(L, 3, asked.place, "low");
    const double high = require_number(L, 4, asked.place, "high");
    FloatOptions options;
    if (!lua_isnoneornil(L, 5)) {
        const Fields given{L, 5, asked.place, known};
        options = {given.truth("log").value_or(false), given.number("step"), given.number("min"), given.number("max")};
    }
    double value = 0;
    ask(L, [&] { value = asked.space.suggest_float(asked.name, low, high, options); });
    if (options.step) self(L).see_grid(L, asked, high);
    see(L, asked);
    lua_pushnumber(L, value);
    return answer(L, asked.name);
}

int TrialApi::suggest_int(lua_State* L) {
    static constexpr std::array<std::string_view, 4> known{"log", "step", "min", "max"};
    const Question asked = question(L, "int");
    const std::int64_t low = require_whole(L, 3, asked.place, "low");
    const std::int64_t high = require_whole(L, 4, asked.place, "high");
    IntOptions options;
    if (!lua_isnoneornil(L, 5)) {
        const Fields given{L, 5, asked.place, known};
        options = {given.truth("log").value_or(false), given.whole("step").value_or(1), given.whole("min"), given.whole("max")};
    }
    std::int64_t value = 0;
    ask(L, [&] { value = asked.space.suggest_int(asked.name, low, high, options); });
    self(L).see_grid(L, asked, static_cast<double>(high));
    see(L, asked);
    lua_pushinteger(L, value);
    return answer(L, asked.name);
}

int TrialApi::suggest_categorical(lua_State* L) {
    static constexpr std::array<std::string_view, 1> known{"only"};
    const Question asked = question(L, "categorical");
    std::vector<Value> choices = require_list(L, 3, asked.place, "the choices");
    charge(L, choices, asked.place);
    std::unordered_set<std::string> texts;
    for (const Value& choice : choices) {
        if (!texts.insert(json_text(choice)).second) {
            raise(L, asked.place + ": got the choice " + clipped(display_text(choice)) + " twice; expected each choice once");
        }
    }
    CategoricalOptions options;
    if (!lua_isnoneornil(L, 4)) {
        const Fields given{L, 4, asked.place, known};
        if (given.push("only")) {
            options.only = require_list(L, -1, asked.place, "only");
            lua_pop(L, 1);
        }
    }
    Value value;
    ask(L, [&] { value = asked.space.suggest_categorical(asked.name, std::move(choices), options); });
    see(L, asked);
    push_value(L, value);
    return answer(L, asked.name);
}

void TrialApi::see(lua_State* L, const Question& asked) {
    TrialApi& api = self(L);
    const std::shared_ptr<const Distribution>& distribution = asked.space.params().find(asked.name)->distribution;
    const std::string place = LuaState::of(L).place(L);
    if (api.asked_.size() >= 10 * max_parameters) return;  // each trial asks for others
    const auto [at, is_new] = api.asked_.try_emplace(asked.name, Asked{distribution, place, api.generation_});
    if (is_new) return;
    Asked& before = at->second;
    if (before.distribution != distribution && !compatible(*before.distribution, *distribution))
        raise(L, asked.place + ": got " + describe(*distribution) + ", and " + before.place + " asks for it as " +
                     describe(*before.distribution) +
                     "; expected one distribution for each name; narrow it with min, max or only, or give it another name");
    if (before.generation == api.generation_)
        api.remark(place + ": " + asked.place + ": is asked for a second time in one trial; it keeps the value of " + before.place);
    before = {distribution, place, api.generation_};
}

void TrialApi::see_grid(lua_State* L, const Question& asked, double high) {
    const Distribution& distribution = *asked.space.params().find(asked.name)->distribution;
    const auto* whole = std::get_if<IntDistribution>(&distribution);
    const auto* real = std::get_if<FloatDistribution>(&distribution);
    const double last = whole ? static_cast<double>(whole->high) : real ? real->high : high;
    if (!(last < high)) return;
    const double step = whole ? static_cast<double>(whole->step) : real->step.value_or(0);
    remark(LuaState::of(L).place(L) + ": " + asked.place + ": " + display_text(high) + " is never drawn, because step " +
           display_text(step) + " does not divide the range; the largest value is " + display_text(last));
}

void TrialApi::remark(std::string text) {
    if (std::ranges::find(remarks_, text) == remarks_.end() && remarks_.size() < max_parameters) remarks_.push_back(std::move(text));
}

int TrialApi::require(lua_State* L) {
    const TrialApi& api = open_trial(L, "require");
    if (lua_isnone(L, 2)) raise(L, "trial:require: got no condition; expected trial:require(CONDITION, \"reason\")");
    const std::string reason = lua_isnoneornil(L, 3) ? "a requirement does not hold" : require_text(L, 3, "trial:require", "the reason");
    if (lua_toboolean(L, 2) != 0) return 0;
    const std::string placed = LuaState::of(L).place(L) + ": " + reason;
    LuaState::outside(L, [&] { api.space_->require(false, placed); });
    return 0;
}

int TrialApi::member(lua_State* L) {
    const std::string name = lua_type(L, 2) == LUA_TSTRING ? clipped(lua_tostring(L, 2)) : type_text(L, 2);
    if (name == "params") {
        lua_getiuservalue(L, 1, 1);
        return 1;
    }
    if (name == "number") {
        lua_pushinteger(L, self(L).number_);
        return 1;
    }
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(2)) != LUA_TNIL) return 1;
    static const std::array<std::string, 6> known{"categorical", "float", "int", "number", "params", "require"};
    static constexpr std::array<std::array<std::string_view, 2>, 6> optuna{{{"suggest_float", "float"},
                                                                            {"suggest_int", "int"},
                                                                            {"suggest_categorical", "categorical"},
                                                                            {"suggest_uniform", "float"},
                                                                            {"suggest_loguniform", "float"},
                                                                            {"suggest_discrete_uniform", "float"}}};
    for (const auto& [word, ours] : optuna) {
        if (name == word)
            raise(L, "trial: unknown member '" + name + "'; did you mean '" + std::string{ours} + "'?; known: " + join_names(known));
    }
    raise(L, unknown_name("trial", "member", name, known).what());
}

int TrialApi::param_assigned(lua_State* L) {
    const std::string value = read_only::assigned_text(L);
    const std::string name = lua_type(L, 2) == LUA_TSTRING ? clipped(lua_tostring(L, 2)) : "name";
    read_only::raise_assigned(
        L, "trial.params",
        self(L).space_
            ? "it shows what has been drawn; expected trial:categorical(" + json_quote(name) + ", { " + value +
                  " }), or an option of the trainer: trainer = { \"...\", [" + json_quote(name) + "] = " + value + " }"
            : "it shows what the attempt ran under; expected return hpo.retry { params = { [" + json_quote(name) + "] = " + value + " } }");
}

void TrialApi::charge(lua_State* L, const std::vector<Value>& choices, const std::string& place) {
    std::size_t& bytes = self(L).choice_bytes_;
    for (const Value& choice : choices) {
        const auto* text = std::get_if<std::string>(&choice);
        bytes += sizeof(Value) + (text ? text->size() : 0);
    }
    if (bytes > max_choice_bytes) raise(L, place + ": the choices of one trial take more than 8 MiB");
}

}  // namespace hpo::script
