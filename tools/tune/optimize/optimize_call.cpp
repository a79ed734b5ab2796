// SPDX-License-Identifier: MIT
#include "tune/optimize/optimize_call.hpp"

#include "hpo/analysis/rules/lua_rule.hpp"
#include "hpo/base/error.hpp"
#include "tune/settings/settings.hpp"

namespace hpo::tune {
namespace {

using analysis::detail::lua_quote;
using tools::Json;

const Json& member(const Json& json, const char* name) {
    static const Json nothing;
    const auto found = json.find(name);
    return found == json.end() ? nothing : *found;
}

[[noreturn]] void refuse(const char* name, const Json& got, const char* expected) {
    throw bad_value("optimize: " + std::string{name}, tools::one_line_text(got).substr(0, 80), expected);
}

std::string text_of(const Json& json, const char* name) {
    const Json& got = member(json, name);
    if (got.is_null()) return {};
    if (!got.is_string()) refuse(name, got, "a text or null");
    return got.get<std::string>();
}

std::optional<std::int64_t> whole_of(const Json& json, const char* name) {
    const Json& got = member(json, name);
    if (got.is_null()) return std::nullopt;
    if (!got.is_number_integer()) refuse(name, got, "a whole number or null");
    return got.get<std::int64_t>();
}

bool truth_of(const Json& json, const char* name) {
    const Json& got = member(json, name);
    return got.is_boolean() && got.get<bool>();
}

/// {"name": "tpe", "options": {"startup_trials": 10}} as "tpe:startup_trials=10".
std::optional<std::string> policy_of(const Json& json, const char* name) {
    const Json& got = member(json, name);
    if (got.is_null()) return std::nullopt;
    if (!got.is_object() || !member(got, "name").is_string()) refuse(name, got, R"({"name": NAME, "options": {...}} or null)");
    std::string spec = got["name"].get<std::string>();
    char before = ':';
    for (const auto& [option, value] : member(got, "options").items()) {
        spec += before + option + "=" + (value.is_string() ? value.get<std::string>() : tools::one_line_text(value));
        before = ',';
    }
    return spec;
}

std::string listed(const std::vector<std::string>& words) {
    std::string list;
    for (const std::string& word : words) list += lua_quote(word) + ", ";
    return list;
}

std::string objectives_text(const std::vector<Direction>& directions, const std::string& metric) {
    std::string list;
    for (std::size_t i = 0; i < directions.size(); ++i) {
        const std::string name = directions.size() == 1 ? metric : metric + "_" + std::to_string(i);
        list += "{ metric = " + lua_quote(name) + ", direction = " + lua_quote(to_text(directions[i])) + " }, ";
    }
    return list;
}

}  // namespace

OptimizeCall optimize_call(const Json& message) {
    OptimizeCall call;
    call.number = whole_of(message, "call").value_or(0);
    call.objective = text_of(message, "objective");
    call.study = text_of(message, "study");
    call.store = text_of(message, "store");
    call.copy_of = text_of(message, "copy_of");
    const Json& directions = member(message, "directions");
    if (!directions.is_null() && !directions.is_array()) refuse("directions", directions, "a list of minimize and maximize");
    for (const Json& each : directions) {
        const auto direction = each.is_string() ? enum_of<Direction>(each.get_ref<const std::string&>()) : std::nullopt;
        if (!direction) refuse("directions", directions, "a list of minimize and maximize");
        call.directions.push_back(*direction);
    }
    call.trials = whole_of(message, "trials");
    if (const Json& seconds = member(message, "seconds"); seconds.is_number()) call.seconds = seconds.get<double>();
    call.sampler = policy_of(message, "sampler");
    call.sampler_note = text_of(message, "sampler_note");
    if (const Json& sampler = member(message, "sampler"); sampler.is_object()) call.seed = whole_of(sampler, "seed");
    call.pruner = policy_of(message, "pruner");
    call.pruner_note = text_of(message, "pruner_note");
    call.state_note = text_of(message, "state_note");
    call.jobs = whole_of(message, "jobs").value_or(1);
    call.one_worker = truth_of(message, "one_worker");
    const auto caught = message.find("catch");
    call.catches = caught != message.end() && caught->is_array() && !caught->empty();
    call.forks = truth_of(message, "forks");
    call.why_not = text_of(message, "why_not");
    call.fork_socket = text_of(message, "fork_socket");
    call.tells_reached = truth_of(message, "tells_reached");
    call.names_constraints = truth_of(message, "names_constraints");
    call.says_ready = truth_of(message, "says_ready");
    if (call.forks && call.fork_socket.empty()) refuse("fork_socket", Json(nullptr), "a path");
    return call;
}

std::string script_text(const OptimizeCall& call, const std::vector<std::string>& words, const std::string& name) {
    std::string script = "local hpo = require \"hpo\"\nreturn hpo.study {\n  name = " + lua_quote(name) + ",\n  trainer = hpo.command { " +
                         listed(words) + "optimize = true },\n  objectives = { " +
                         objectives_text(call.directions.empty() ? std::vector{Direction::minimize} : call.directions, "value") + "},\n";
    script += "  sampler = " + lua_quote(call.sampler.value_or(program_policy)) + ",\n";
    script += "  pruner = " + lua_quote(call.pruner.value_or(program_policy)) + ",\n";
    if (call.seed) script += "  seed = " + std::to_string(*call.seed) + ",\n";
    return script + "}\n";
}

std::string script_text(const std::vector<std::string>& words, const std::string& python, const std::string& name,
                        const std::vector<Direction>& directions, const std::string& metric) {
    return "local hpo = require \"hpo\"\nreturn hpo.study {\n  name = " + lua_quote(name) + ",\n  trainer = hpo.python { " + listed(words) +
           "python = " + lua_quote(python) + " },\n  objectives = { " + objectives_text(directions, metric) + "},\n}\n";
}

std::vector<std::string> notes_of(const OptimizeCall& call, const Settings& settings) {
    std::vector<std::string> notes;
    if (!call.copy_of.empty())
        notes.push_back("the trials are in store " + settings.text("store") + "; each that has ended is also written to the program's " +
                        call.copy_of);
    const auto if_own = [&](const char* word, const std::string& note) {
        return settings.text(word) == program_policy ? note : std::string{};
    };
    for (const std::string& note :
         {call.store_note, if_own("sampler", call.sampler_note), if_own("pruner", call.pruner_note), call.state_note}) {
        if (!note.empty()) notes.push_back(note);
    }
    if (settings.ignores_pruner())
        notes.push_back(settings.place("pruner") + " " + program_policy +
                        " has no effect, because Optuna prunes no trial of several objectives");
    if (call.jobs != 1) notes.push_back("n_jobs=" + std::to_string(call.jobs) + " is replaced by workers: --workers says how many");
    return notes;
}

std::vector<std::string> words_of_program(const Settings& settings) {
    const auto& options = settings.description().trainer_options;
    const auto arguments = options.find("arguments");
    const std::string* const text = arguments == options.end() ? nullptr : std::get_if<std::string>(&arguments->second);
    const Json list = text ? Json::parse(*text, nullptr, false) : Json{};
    std::vector<std::string> words;
    for (const Json& word : list.is_array() ? list : Json::array()) {
        if (word.is_string()) words.push_back(word.get<std::string>());
    }
    if (words.empty() || words.front().empty())
        throw bad_value(settings.arguments().script + ": trainer: arguments", "no program", "a list of words");
    return words;
}

}  // namespace hpo::tune
