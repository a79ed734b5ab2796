// SPDX-License-Identifier: MIT
#include "hpo/script/study_reader.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/base/bracketed_list.hpp"
#include "hpo/base/bytes.hpp"
#include "hpo/base/plain_text.hpp"
#include "hpo/core/plan.hpp"
#include "script/plan_member.hpp"

namespace hpo::script::study_reader {

std::string option_text(lua_State* L, int index, const std::string& what) {
    const auto value = to_value(L, index);
    if (!value || value->is_null()) {
        raise_wrong_type(L, index, context, what, "a string, a number, true or false");
    }
    if (const auto* text = std::get_if<std::string>(&*value)) return *text;
    return json_text(*value);
}

std::string named_table(lua_State* L, int index, const std::string& what, std::map<std::string, Value, std::less<>>& options) {
    index = lua_absindex(L, index);
    std::string name;
    for (lua_pushnil(L); lua_next(L, index) != 0; lua_pop(L, 1)) {
        const bool first = lua_isinteger(L, -2) != 0 && lua_tointeger(L, -2) == 1;
        if (!first && lua_type(L, -2) != LUA_TSTRING) {
            raise(L, context + ": got more than one name in " + what + "; expected { \"name\", option = value }");
        }
        if (first || std::string_view{lua_tostring(L, -2)} == "name") {
            if (!name.empty()) raise(L, context + ": got two names in " + what + "; expected { \"name\", option = value }");
            name = require_text(L, -1, context, "the name in " + what);
            continue;
        }
        const std::string key = clipped(lua_tostring(L, -2));
        const AtMember at{L, key};
        if (options.size() >= max_options) raise(L, context + ": more than 1000 options in " + what);
        auto value = to_value(L, -1);
        if (!value) raise_wrong_type(L, -1, context, what + "." + key, "a string, a number, true or false");
        options.emplace(key, std::move(*value));
    }
    if (name.empty()) raise(L, context + ": got no name in " + what + "; expected { \"name\", option = value }");
    return name;
}

std::optional<std::string> policy(lua_State* L, const Fields& fields, const char* key, StudyDescription& study) {
    if (!fields.push(key)) return std::nullopt;
    const AtMember at{L, key};
    study.places.emplace(key, LuaState::of(L).place(L));
    std::string text;
    if (lua_type(L, -1) == LUA_TTABLE) {
        std::map<std::string, Value, std::less<>> options;
        text = named_table(L, -1, key, options);
        char separator = ':';
        for (const auto& [name, value] : options) {
            const auto* words = std::get_if<std::string>(&value);
            const std::string shown = words ? *words : json_text(value);
            if (comma_outside_brackets(shown) != std::string::npos) {
                raise(L, context + ": got a comma in " + key + "." + name + "; expected commas only in ( ), as on the command line");
            }
            text += separator + name + "=" + shown;
            separator = ',';
        }
    } else {
        text = require_text(L, -1, context, key);
    }
    lua_pop(L, 1);
    return text;
}

Objective objective(lua_State* L, int index, const std::string& what) {
    static constexpr std::array<std::string_view, 2> known{"metric", "direction"};
    const std::string place = context + ": " + what;
    if (lua_type(L, index) != LUA_TTABLE) raise_wrong_type(L, index, context, what, "{ metric = \"...\", direction = \"maximize\" }");
    const Fields fields{L, index, place, known};
    const auto metric = fields.text("metric");
    const auto word = fields.text("direction");
    if (!metric) raise(L, place + ": got no metric; expected the name of one of the trainer's metrics");
    std::string metric_place;
    {
        const AtMember at{L, "metric"};
        metric_place = LuaState::of(L).place(L);
    }
    const AtMember at{L, "direction"};
    const auto direction = word ? enum_of<Direction>(*word) : std::nullopt;
    if (!direction)
        raise(L, place + ": got " + (word ? "direction '" + clipped(*word) + "'" : "no direction") + "; expected minimize or maximize");
    return {*metric, *direction, std::move(metric_place)};
}

void objectives(lua_State* L, const Fields& fields, StudyDescription& study) {
    if (fields.push("objective")) {
        const AtMember at{L, "objective"};
        study.objectives.push_back(objective(L, -1, "objective"));
        lua_pop(L, 1);
    }
    if (fields.push("objectives")) {
        const AtMember at{L, "objectives"};
        if (!study.objectives.empty()) raise(L, context + ": got both objective and objectives; expected one of them");
        if (lua_type(L, -1) != LUA_TTABLE) raise_wrong_type(L, -1, context, "objectives", "a list of { metric, direction }");
        const auto count = static_cast<lua_Integer>(std::min<lua_Unsigned>(lua_rawlen(L, -1), 100));
        for (lua_Integer i = 1; i <= count; ++i) {
            lua_rawgeti(L, -1, i);
            study.objectives.push_back(objective(L, -1, "objectives[" + std::to_string(i) + "]"));
            lua_pop(L, 1);
        }
        lua_pop(L, 1);
    }
    if (study.objectives.empty()) {
        raise(L, context + ": got no objective; expected objective = { metric = \"...\", direction = \"maximize\" }");
    }
}

/// The table on top of the stack, as parameter names with their values.
std::map<std::string, Value, std::less<>> parameter_values(lua_State* L, const std::string& key) {
    const int table = lua_gettop(L);
    if (lua_type(L, table) != LUA_TTABLE) raise_wrong_type(L, table, context, key, "a table such as { [\"optim.lr\"] = 0.1 }");
    std::map<std::string, Value, std::less<>> values;
    for (lua_pushnil(L); lua_next(L, table) != 0; lua_pop(L, 1)) {
        auto value = to_value(L, -1);
        if (lua_type(L, -2) != LUA_TSTRING || !value) raise(L, context + ": " + key + ": expected parameter names with their values");
        if (values.size() >= max_options) raise(L, context + ": " + key + ": more than 1000 parameters");
        values.emplace(lua_tostring(L, -2), std::move(*value));
    }
    return values;
}

void run_options(lua_State* L, const Fields& fields, StudyDescription& study) {
    for (const char* key : {"trials", "seed", "seeds"}) {
        const auto value = fields.whole(key);
        if (!value) continue;
        const AtMember at{L, key};
        const int least = std::string_view{key} == "seed" ? 0 : 1;
        if (*value < least) {
            raise(L, context + ": got " + std::to_string(*value) + " for " + key + "; expected a whole number of at least " +
                         std::to_string(least));
        }
        study.places.emplace(key, LuaState::of(L).place(L));
        study.run_options.emplace(key, std::to_string(*value));
    }
    for (const std::string_view given : text_options) {
        const char* const key = given.data();
        if (!fields.push(key)) continue;
        const AtMember at{L, key};
        std::string word = key;
        std::replace(word.begin(), word.end(), '_', '-');
        const std::string text = option_text(L, -1, key);
        if (word == "device-memory" && !parse_bytes(text)) {
            raise(L, bad_value(context + ": device_memory", "'" + clipped(text) + "'", "a size such as 600MiB").what());
        }
        if (word == "save-best" && lua_type(L, -1) == LUA_TNUMBER) raise_wrong_type(L, -1, context, key, "true, false or a folder");
        if (word == "workers" && text != "auto" && (lua_isinteger(L, -1) == 0 || lua_tointeger(L, -1) < 1)) {
            raise(L, bad_value(context + ": workers", "'" + clipped(text) + "'", "\"auto\" or a number of at least 1").what());
        }
        study.places.emplace(word, LuaState::of(L).place(L));
        study.run_options.emplace(std::move(word), text);
        lua_pop(L, 1);
    }
    if (fields.push("fix")) {
        const AtMember at{L, "fix"};
        study.places.emplace("fix", LuaState::of(L).place(L));
        study.fixed_params = parameter_values(L, "fix");
        lua_pop(L, 1);
    }
    if (fields.push("enqueue")) {
        const AtMember at{L, "enqueue"};
        study.places.emplace("enqueue", LuaState::of(L).place(L));
        if (lua_type(L, -1) != LUA_TTABLE) raise_wrong_type(L, -1, context, "enqueue", "a list such as { { [\"optim.lr\"] = 0.1 } }");
        const auto count = static_cast<lua_Integer>(lua_rawlen(L, -1));
        if (count == 0)
            raise(L, context + ": enqueue: expected a list of tables, one for each trial, such as { { [\"optim.lr\"] = 0.1 } }");
        if (count > static_cast<lua_Integer>(max_options)) raise(L, context + ": enqueue: more than 1000 trials");
        for (lua_Integer i = 1; i <= count; ++i) {
            lua_rawgeti(L, -1, i);
            study.enqueued.push_back(parameter_values(L, "enqueue[" + std::to_string(i) + "]"));
            lua_pop(L, 1);
        }
        lua_pop(L, 1);
    }
}

void first_plan(lua_State* L, const Fields& fields, StudyDescription& study) {
    static const std::vector<std::string_view> levers = [] {
        std::vector<std::string_view> keys;
        each_plan_field([&](const auto& field) {
            if (field.role == PlanRole::lever) keys.push_back(field.key);
        });
        return keys;
    }();
    if (!fields.push("plan")) return;
    const AtMember at{L, "plan"};
    const std::string place = context + ": plan";
    if (lua_type(L, -1) != LUA_TTABLE) raise_wrong_type(L, -1, context, "plan", "a table such as { micro_batch = 8 }");
    const Fields given{L, -1, place, levers};
    each_plan_field([&](const auto& field) {
        if (field.role == PlanRole::lever) read_plan_member(L, given, place, field, study.plan);
    });
    lua_pop(L, 1);
}

void read(lua_State* L, int index, StudyDescription& study) {
    static const std::vector<std::string_view> known = [] {
        std::vector<std::string_view> members{"name",  "trainer",  "objective", "objectives", "sampler",    "pruner",
                                              "guard", "recovery", "space",     "on_oom",     "on_failure", "trials",
                                              "seed",  "seeds",    "fix",       "plan",       "enqueue"};
        members.insert(members.end(), text_options.begin(), text_options.end());
        return members;
    }();
    const Fields fields{L, index, context, known};
    study.name = fields.text("name").value_or("");
    if (study.name.empty()) raise(L, context + ": got no name; expected name = \"...\"");
    {
        const AtMember at{L, "name"};
        if (study.name.size() > 512)
            raise(L, context + ": got a name of " + std::to_string(study.name.size()) + " bytes; expected at most 512");
        if (!is_plain_text(study.name))
            raise(L, context + ": got a name " + ascii_text(study.name.substr(0, 80)) +
                         "; expected UTF-8 characters without control characters");
    }
    if (!fields.push("trainer")) raise(L, context + ": got no trainer; expected trainer = \"name\" or { \"name\", option = value }");
    {
        const AtMember at{L, "trainer"};
        if (lua_type(L, -1) == LUA_TTABLE) study.trainer = named_table(L, -1, "trainer", study.trainer_options);
        else study.trainer = require_text(L, -1, context, "trainer");
    }
    lua_pop(L, 1);
    objectives(L, fields, study);
    study.sampler = policy(L, fields, "sampler", study);
    study.pruner = policy(L, fields, "pruner", study);
    study.guard = policy(L, fields, "guard", study);
    study.recovery = policy(L, fields, "recovery", study);
    run_options(L, fields, study);
    first_plan(L, fields, study);
}

}  // namespace hpo::script::study_reader
