// SPDX-License-Identifier: MIT
#include "tune/settings/settings.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>

#include "hpo/allocator/trace_file.hpp"
#include "hpo/base/bytes.hpp"
#include "hpo/base/duration.hpp"
#include "hpo/core/device_word.hpp"
#include "hpo/core/plan_text.hpp"
#include "hpo/pruner/none.hpp"
#include "hpo/sampler/random.hpp"
#include "hpo/store/location.hpp"
#include "hpo/trainer/objectives.hpp"
#include "hpo/trainer/parameter_type.hpp"
#include "support/installation.hpp"
#include "support/json.hpp"
#include "tune/display/cards.hpp"
#include "tune/display/text.hpp"
#include "tune/settings/known_words.hpp"

namespace hpo::tune {
namespace {

script::StudyScript load(const StudyArguments& arguments, script::Sandbox::Print print) {
    if (!arguments.script_text && allocator::begins_as_trace(arguments.script)) {
        throw Error{Errc::script,
                    arguments.script + ": an allocation trace and no study script; hpo-tune trace " + arguments.script + " shows it"};
    }
    script::ScriptOptions options;
    options.print = std::move(print);
    options.module_folders = {tools::installation() / "share/hpo/lua/rules"};  // the rule files that come with hpo
    for (const std::string& assignment : arguments.set) {
        const auto equals = assignment.find('=');
        if (equals == std::string::npos || equals == 0) throw bad_value("--set", "'" + assignment + "'", "NAME=VALUE");
        options.set[assignment.substr(0, equals)] = assignment.substr(equals + 1);
    }
    for (const std::string& assignment : arguments.trainer_option) {
        auto [name, value] = parse_assignment("--trainer-option", assignment);
        options.trainer_options.insert_or_assign(std::move(name), std::move(value));
    }
    try {
        if (arguments.script_text) return script::StudyScript::from_text(*arguments.script_text, arguments.script, std::move(options));
        return script::StudyScript::load(arguments.script, std::move(options));
    } catch (const Error& error) {
        if (error.code() != Errc::unknown_name) throw;  // else a --set that the script does not declare
        throw Error{Errc::unknown_name, std::string{error.what()} + "; an option of the trainer is set by --trainer-option NAME=VALUE"};
    }
}

/// Whether there is a size to hold predictions against: the user's, or a GPU's.
bool knows_device_memory(const std::map<std::string, Settings::Setting>& settings, const std::vector<DeviceWord>& devices) {
    if (!settings.at("device-memory").text.empty()) return true;
    return std::ranges::any_of(devices, [](const DeviceWord& device) {
        if (device.bytes) return true;
        if (is_cpu(device.name)) return false;
        if (device.name == "auto" || device.name == "cuda:*") return std::ranges::any_of(visible_cards(), &device::NvidiaDevice::is_known);
        const auto card = card_of(device.name);
        return card && card->is_known();
    });
}

/// A duration from 1 ms to `most_seconds`.
std::chrono::milliseconds require_milliseconds(const std::string& place, const std::string& text, double most_seconds,
                                               const char* expected) {
    const double seconds = require_seconds(place, text);
    if (seconds < 0.001 || seconds > most_seconds) throw bad_value(place, "'" + text + "'", expected);
    return std::chrono::milliseconds{std::llround(seconds * 1000)};
}

/// True if the trainer runs an objective that a file names (hpo.python), and not a program that calls study.optimize.
bool names_objective(const script::StudyDescription& description) {
    const auto arguments = description.trainer_options.find("arguments");
    const auto* const words = arguments == description.trainer_options.end() ? nullptr : std::get_if<std::string>(&arguments->second);
    return words && words->find(R"("hpo._loop._named")") != std::string::npos;
}

/// True if the trainer runs a program that calls study.optimize, so that there is a study of Optuna with its own sampler and pruner.
bool runs_program(const script::StudyDescription& description) { return description.asks_while_running && !names_objective(description); }

}  // namespace

Settings::Settings(StudyArguments arguments)
    : arguments_{std::move(arguments)},
      script_{load(arguments_, [](std::string_view line) { std::cerr << line << "\n"; })},
      silent_{load(arguments_, {})} {
    const script::StudyDescription& study = description();
    if (!arguments_.save_best.empty()) arguments_.words["save-best"] = arguments_.save_best;
    std::map<std::string, std::string> from_script{study.run_options.begin(), study.run_options.end()};
    const auto adopt = [&](const char* name, const std::optional<std::string>& spec) {
        if (spec) from_script[name] = *spec;
    };
    adopt("sampler", study.sampler);
    adopt("pruner", study.pruner);
    adopt("guard", study.guard);
    adopt("recovery", study.recovery);
    if (const auto folder = from_script.extract("plugin-dir")) arguments_.plugin_dirs.push_back(folder.mapped());

    std::vector<std::string> names;
    for (const KnownWord& word : known_words) {
        names.emplace_back(word.name);
        Setting setting{word.standard, "default"};
        if (const auto given = from_script.find(word.name); given != from_script.end()) setting = {given->second, arguments_.script};
        if (const auto given = arguments_.words.find(word.name); given != arguments_.words.end()) setting = {given->second, "command line"};
        settings_[word.name] = setting;
    }
    for (const auto& [name, text] : from_script) {
        if (std::find(names.begin(), names.end(), name) == names.end()) throw unknown_name(arguments_.script, "option", name, names);
    }
    if (description().trainer.empty()) throw Error{Errc::script, arguments_.script + ": got an empty trainer; expected trainer = \"name\""};
    if (settings_["guard"].text.starts_with("auto:"))
        throw bad_value(place("guard"), "'" + settings_["guard"].text + "'", "auto, which has no options, or a guard's name with them");
    devices_ = parse_devices(place("device"), text("device"));
    if (const std::string& fallback = text("fallback-device"); !fallback.empty()) {
        const auto words = parse_devices(place("fallback-device"), fallback);
        if (words.size() > 1) throw bad_value(place("fallback-device"), "'" + fallback + "'", "one device, such as cpu");
        fallback_ = words.front();
    }
    if (Setting& guard = settings_["guard"]; guard.text == "auto")
        guard.text = knows_device_memory(settings_, devices_) ? "calibrated" : "unlimited";
    if (settings_["save-best"].text == "false") settings_["save-best"].text.clear();
    if (study.objectives.size() > 1) {
        if (settings_["pruner"].origin == "default") settings_["pruner"] = {"none", "several objectives"};
        ignores_pruner_ = settings_["pruner"].text == program_policy && runs_program(study);
        if (ignores_pruner_) settings_["pruner"].text = "none";
    }
    if (settings_["study"].text.empty()) settings_["study"] = {study.name, arguments_.script};
    const std::string& progress = settings_["progress"].text;
    if (progress != "auto" && progress != "bar" && progress != "plain" && progress != "none")
        throw bad_value(place("progress"), "'" + progress + "'", "auto, bar, plain or none");
    static_cast<void>(compute_capability());
    static_cast<void>(target_share());
}

script::StudyScript Settings::fresh_script() const { return load(arguments_, {}); }

std::string Settings::place(const std::string& word) const {
    if (settings_.at(word).origin == "command line") return "--" + word;
    const auto& places = script_.description().places;
    const auto found = places.find(word);
    return (found == places.end() ? arguments_.script : found->second) + ": " + word;
}

std::int64_t Settings::whole(const std::string& word, std::int64_t least, std::int64_t greatest) const {
    const auto value = field_traits<std::int64_t>::parse(text(word));
    if (value && *value >= least && *value <= greatest) return *value;
    const bool bounded = greatest < std::numeric_limits<std::int64_t>::max();
    throw bad_value(place(word), "'" + text(word) + "'",
                    bounded ? "a whole number from " + std::to_string(least) + " to " + std::to_string(greatest)
                            : "a whole number of at least " + std::to_string(least));
}

std::optional<std::int64_t> Settings::bytes(const std::string& word) const {
    if (text(word).empty()) return std::nullopt;
    return require_bytes(place(word), text(word));
}

std::optional<double> Settings::time_seconds() const {
    if (text("time").empty()) return std::nullopt;
    const double seconds = require_seconds(place("time"), text("time"));
    if (seconds <= 0) throw bad_value(place("time"), "'" + text("time") + "'", "a duration above 0, such as 8h");
    return seconds;
}

std::optional<allocator::ComputeCapability> Settings::compute_capability() const {
    const std::string& given = text("compute-capability");
    if (given.empty()) return std::nullopt;
    const auto capability = allocator::parse_compute_capability(given);
    std::vector<std::string> known;
    for (const allocator::ComputeCapability each : allocator::known_compute_capabilities) {
        if (capability == each) return each;
        known.push_back(to_text(each));
    }
    throw bad_value(place("compute-capability"), "'" + given + "'", "one that LibTorch knows: " + join_names(known));
}

std::optional<double> Settings::target_share() const {
    const std::string& given = text("target-share");
    if (given == "auto") return std::nullopt;
    const auto share = field_traits<double>::parse(given);
    if (!share || !(*share > 0 && *share <= 1)) throw bad_value(place("target-share"), "'" + given + "'", "auto, or above 0 to 1");
    return share;
}

std::optional<std::chrono::milliseconds> Settings::limit(const std::string& word) const {
    if (text(word).empty()) return std::nullopt;
    return require_milliseconds(place(word), text(word), longest_duration_seconds, "a duration from 1ms to a year, such as 45min");
}

std::chrono::milliseconds Settings::plugin_timeout() const { return require_timeout(place("plugin-timeout"), text("plugin-timeout")); }

std::vector<Direction> Settings::directions() const {
    std::vector<Direction> directions;
    for (const script::Objective& objective : description().objectives) directions.push_back(objective.direction);
    return directions;
}

std::vector<std::string> Settings::objectives() const {
    std::vector<std::string> objectives;
    for (const script::Objective& objective : description().objectives) objectives.push_back(objective.metric);
    return objectives;
}

std::string Settings::metric_text() const {
    std::string text;
    for (const std::string& metric : objectives()) text += (text.empty() ? "" : ", ") + metric;
    return text;
}

std::size_t Settings::reported_objective() const {
    const std::vector<std::string> all = objectives();
    const auto found = std::find(all.begin(), all.end(), reported_metric(all));
    return found == all.end() ? 0 : static_cast<std::size_t>(found - all.begin());
}

void Settings::require_for_objectives() const {
    if (description().objectives.size() < 2) return;
    if (const std::string pruner = text("pruner").substr(0, text("pruner").find(':')); pruner != "none")
        throw bad_value(place("pruner"), "'" + pruner + "' for several objectives", "none: running trials are compared by one value");
    if (!text("save-best").empty()) throw bad_value(place("save-best"), "several objectives", "one: several have no best trial");
}

std::vector<std::pair<std::string, Value>> Settings::fixed() const {
    std::vector<std::pair<std::string, Value>> fixed;
    for (const std::string& assignment : arguments_.fix) {
        auto given = parse_assignment("--fix", assignment);
        const std::string written = assignment.substr(assignment.find('=') + 1);
        if (display_text(given.second) != written) given.second = Value{written};  // "007" may be a choice: to_internal_as_written
        const auto earlier = std::find_if(fixed.begin(), fixed.end(), [&](const auto& each) { return each.first == given.first; });
        if (earlier != fixed.end())
            throw bad_value("--fix " + given.first, display_text(earlier->second) + " and " + display_text(given.second), "one value");
        fixed.push_back(std::move(given));
    }
    for (const auto& [name, value] : description().fixed_params) {
        if (std::none_of(fixed.begin(), fixed.end(), [&](const auto& given) { return given.first == name; }))
            fixed.emplace_back(name, value);
    }
    return fixed;
}

ExecutionPlan Settings::with_levers(ExecutionPlan plan) const {
    for (const std::string& assignment : arguments_.plan) set_lever(plan, "--plan", assignment);
    return plan;
}

std::filesystem::path Settings::best_model_folder(std::int64_t study_id) const {
    const std::string& folder = text("save-best");
    if (folder != "true") return folder;
    return std::filesystem::path{store::file_of(text("store")) + ".best"} / ("study-" + std::to_string(study_id));
}

AnyPolicies Settings::policies() const {
    require_for_objectives();
    const registry::Registries registries = registry::builtin_registries();
    const auto make = [&](const auto& kind, const char* word, const std::vector<std::string>& knows = {}) {
        return kind.make(place(word), registry::parse_policy_spec(place(word), text(word)), knows);
    };
    std::vector<std::string> own;  // names of what the program brings itself
    if (runs_program(description())) own.emplace_back(program_policy);
    const auto is_of_program = [&](const char* word) {
        const std::string& policy = text(word);
        if (policy.substr(0, policy.find(':')) != program_policy) return false;
        const auto expected = [&](const std::string& what) { return bad_value(place(word), "'" + policy + "'", what); };
        if (!description().asks_while_running)
            throw expected("it only for a program that calls study.optimize; see hpo-tune policies " + std::string{word});
        if (names_objective(description()))
            throw expected("a " + std::string{word} + " of hpo's; an objective by name has no study with a " + word + " of its own");
        if (policy != program_policy) throw expected("optuna without options; the program's " + std::string{word} + " has its own");
        return true;
    };
    registry::AnySampler sampler = is_of_program("sampler") ? sampler::Random{} : make(registries.samplers, "sampler", own);
    try {
        sampler.require_objectives(description().objectives.size());
    } catch (const Error& error) {
        throw Error{Errc::bad_value, place("sampler") + ": " + error.what()};
    }
    return {std::move(sampler), is_of_program("pruner") ? registry::AnyPruner{pruner::None{}} : make(registries.pruners, "pruner", own),
            make(registries.guards, "guard"),
            script::ScriptRecovery<registry::AnyRecovery>{script_, make(registries.recoveries, "recovery")}};
}

std::string Settings::json(const std::map<std::string, std::string>& space) const {
    tools::Json json;
    json["script"] = arguments_.script;
    for (const auto& [word, setting] : settings_) json[word] = setting.text;
    for (const script::ScriptOption& option : description().options) json["set." + option.name] = tools::to_json(option.value);
    for (const auto& [name, value] : description().trainer_options) json["trainer_option." + name] = tools::to_json(value);
    if (const std::string levers = plan_text(plan()); !levers.empty()) json["plan"] = levers;
    json["space"] = space;
    return tools::one_line_text(json);
}

std::string Settings::report() const {
    std::vector<std::vector<std::string>> rows;
    for (const KnownWord& word : known_words) {
        const Setting& setting = settings_.at(word.name);
        rows.push_back({word.name, setting.text.empty() ? "none" : setting.text, setting.origin});
    }
    for (const script::ScriptOption& option : description().options) {
        rows.push_back(
            {"set " + option.name, display_text(option.value), option.value == option.standard ? arguments_.script : "command line"});
    }
    if (const std::string levers = plan_text(plan()); !levers.empty())
        rows.push_back({"plan", levers, arguments_.plan.empty() ? arguments_.script : "command line"});
    for (const auto& [name, value] : description().trainer_options) {
        const bool typed =
            std::ranges::any_of(arguments_.trainer_option, [&](const std::string& text) { return text.starts_with(name + "="); });
        rows.push_back({"trainer option " + name, display_text(value), typed ? "command line" : arguments_.script});
    }
    for (const auto& [name, value] : fixed()) rows.push_back({"fix " + name, display_text(value), "fixed"});
    return table({"setting", "value", "from"}, rows);
}

double require_seconds(const std::string& place, const std::string& text) {
    if (const auto seconds = parse_duration_seconds(text)) return *seconds;
    throw bad_value(place, "'" + text + "'", "a duration such as 45s, 90min, 1h30min");
}

std::chrono::milliseconds require_timeout(const std::string& place, const std::string& text) {
    return require_milliseconds(place, text, 24 * 3600, "a duration from 1ms to 24h");
}

void Settings::take_types(const TrainerInfo& info) {
    for (const std::string& assignment : arguments_.trainer_option) {
        const auto [name, value] = parse_assignment("--trainer-option", assignment);
        const auto parameter = std::ranges::find(info.parameters, name, &TrainerParameter::name);
        if (parameter == info.parameters.end() || std::holds_alternative<std::string>(value)) continue;
        const ParameterType::Kind kind = ParameterType::of(*parameter).kind;
        if (kind != ParameterType::Kind::text && kind != ParameterType::Kind::choice) continue;
        if (!typed_) typed_ = script_.description();
        typed_->trainer_options.insert_or_assign(name, Value{assignment.substr(assignment.find('=') + 1)});
    }
}

std::pair<std::string, Value> parse_assignment(const std::string& place, const std::string& text) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0) throw bad_value(place, "'" + text + "'", "NAME=VALUE");
    const std::string value = text.substr(equals + 1);
    const std::string name = text.substr(0, equals);
    if (const auto whole = field_traits<std::int64_t>::parse(value)) return {name, *whole};
    if (const auto number = field_traits<double>::parse(value)) return {name, *number};
    if (value == "true" || value == "false") return {name, value == "true"};
    return {name, value};
}

}  // namespace hpo::tune
