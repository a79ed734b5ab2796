// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/App.hpp>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/allocator/compute_capability.hpp"
#include "hpo/core/plan.hpp"
#include "hpo/core/value.hpp"
#include "hpo/registry/builtins.hpp"
#include "hpo/script/recovery_rules.hpp"
#include "hpo/script/study_reader.hpp"
#include "hpo/trainer/trainer.hpp"
#include "hpo/tuner/session.hpp"
#include "tune/settings/device_words.hpp"

namespace hpo::tune {

/// Of the setting `seeds`.
inline constexpr std::int64_t most_seeds = 1000;

/// What a person typed about a study; the words are those that a script may use too.
struct StudyArguments {
    std::string script;                       ///< its file, or what errors call `script_text`
    std::optional<std::string> script_text;   ///< of a script that is no file
    std::vector<std::string> program;         ///< whose call of optimize the study is; empty: it is a script's
    std::vector<std::string> objective;       ///< further words of the command line that say FILE.py:NAME, and its arguments behind --
    std::vector<std::string> set;             ///< NAME=VALUE of hpo.option
    std::vector<std::string> trainer_option;  ///< NAME=VALUE of an option of the trainer
    std::string program_option;               ///< one of the command line that only a program has: "--batch-parameter"; empty: none
    std::vector<std::string> fix;             ///< NAME=VALUE of a parameter
    std::vector<std::string> plan;            ///< KEY=VALUE of a lever
    std::vector<std::string> plugin_dirs;
    std::string save_best;                     ///< a folder, "true" for the standard one, empty: not kept
    bool in_program = false;                   ///< its trials run in `program`, without a process of their own
    bool supervise = false;                    ///< for the command that goes on with the study
    std::string new_study;                     ///< what the study is called, with a number if others are called so; empty: it may exist
    bool accept_changed_options = false;       ///< of the trainer, in a study that has trials with others
    std::map<std::string, std::string> words;  ///< "device-memory" to its text
};

/// Adds SCRIPT and the options that say what a study is; `words` are the ones that this command understands.
void add_study_arguments(CLI::App* command, const std::shared_ptr<StudyArguments>& arguments, const std::vector<std::string>& words);

/// Refuses an empty text, which would otherwise count as an option that was not given. `expected` is how --help shows the value.
[[nodiscard]] CLI::Validator not_empty(const std::string& expected);

/// "NAME-2" and so on: a study's name beside others that are called NAME.
[[nodiscard]] inline std::string numbered_name(const std::string& name, int number) { return name + "-" + std::to_string(number); }

/// As sampler or pruner of a program that calls optimize: its own, which goes on in the program.
inline constexpr const char* program_policy = "optuna";

/// The four policies of a command line.
using AnyPolicies =
    tuner::Policies<registry::AnySampler, registry::AnyPruner, registry::AnyMemoryGuard, script::ScriptRecovery<registry::AnyRecovery>>;

/// A script together with what the command line changed: every value, and where it came from.
class Settings {
public:
    struct Setting {
        std::string text;
        std::string origin;  ///< "command line", the script's file, "default"
    };

    /// Loads the script. Throws Error for anything that is wrong with either.
    explicit Settings(StudyArguments arguments);

    [[nodiscard]] const script::StudyScript& script() const noexcept { return script_; }
    /// The space of a copy of the script that prints nothing, for looking at proposals before there are trials.
    [[nodiscard]] Space probe_space() const { return silent_.space(); }
    /// What a person should know of the space, as far as probe_space was asked.
    [[nodiscard]] const std::vector<std::string>& probe_remarks() const { return silent_.remarks(); }
    /// The script loaded anew, silent: what is asked of it leaves the study's own untouched.
    [[nodiscard]] script::StudyScript fresh_script() const;
    [[nodiscard]] const script::StudyDescription& description() const noexcept { return typed_ ? *typed_ : script_.description(); }
    /// Reads the values of `--trainer-option` anew where the trainer wants a text: "2024" is then no number, and "true" no truth value.
    void take_types(const TrainerInfo& info);
    [[nodiscard]] const StudyArguments& arguments() const noexcept { return arguments_; }
    [[nodiscard]] const std::map<std::string, Setting>& all() const noexcept { return settings_; }
    /// The place of a setting for error messages: "--trials", or the script's name and the word.
    [[nodiscard]] std::string place(const std::string& word) const;

    [[nodiscard]] const std::string& text(const std::string& word) const { return settings_.at(word).text; }
    void name_study(const std::string& name) { settings_.at("study").text = name; }
    /// Takes a setting over from the study's latest run.
    void keep(const std::string& word, const std::string& text) { settings_.at(word) = {text, "the study's latest run"}; }
    [[nodiscard]] std::int64_t whole(const std::string& word, std::int64_t least,
                                     std::int64_t greatest = std::numeric_limits<std::int64_t>::max()) const;
    [[nodiscard]] std::optional<std::int64_t> bytes(const std::string& word) const;
    /// Those of `device`.
    [[nodiscard]] const std::vector<DeviceWord>& devices() const noexcept { return devices_; }
    /// That of `fallback-device`.
    [[nodiscard]] const std::optional<DeviceWord>& fallback() const noexcept { return fallback_; }
    [[nodiscard]] std::optional<double> time_seconds() const;
    /// Of the GPU that is predicted for; nothing where nobody says. One that LibTorch does not know is refused when the script is loaded.
    [[nodiscard]] std::optional<allocator::ComputeCapability> compute_capability() const;
    /// TuneOptions::target_share where somebody says it; nothing: auto.
    [[nodiscard]] std::optional<double> target_share() const;
    /// A duration that may be left out: `attempt-time`, `silence-time`, `device-wait`.
    [[nodiscard]] std::optional<std::chrono::milliseconds> limit(const std::string& word) const;
    /// What a trainer plugin may take to say what it is, to come up in a worker, and to check one proposal.
    [[nodiscard]] std::chrono::milliseconds plugin_timeout() const;
    [[nodiscard]] std::vector<Direction> directions() const;
    /// The metrics of the objectives, in order.
    [[nodiscard]] std::vector<std::string> objectives() const;
    /// The same as text: "accuracy, seconds".
    [[nodiscard]] std::string metric_text() const;
    /// The place among them of the one that the trainer reports (trainer/objectives.hpp).
    [[nodiscard]] std::size_t reported_objective() const;
    /// Values of `--fix` and of the script's `fix`; the command line wins.
    [[nodiscard]] std::vector<std::pair<std::string, Value>> fixed() const;
    /// What first attempts run under: the script's plan with the levers of `--plan` set.
    [[nodiscard]] ExecutionPlan plan() const { return with_levers(description().plan); }
    /// Another plan with the levers of `--plan` set.
    [[nodiscard]] ExecutionPlan with_levers(ExecutionPlan plan) const;
    /// The place of the plan for error messages.
    [[nodiscard]] std::string plan_place() const { return arguments_.plan.empty() ? arguments_.script + ": plan" : "--plan"; }
    /// Where the best trial's model is kept; empty: nowhere. `study_id` names the standard folder, beside the store.
    [[nodiscard]] std::filesystem::path best_model_folder(std::int64_t study_id) const;
    /// The program's own pruner was asked for, which judges no trial of several objectives.
    [[nodiscard]] bool ignores_pruner() const noexcept { return ignores_pruner_; }
    /// In place of `program_policy` stands another one, for whoever has the program.
    [[nodiscard]] AnyPolicies policies() const;
    /// The whole as JSON text, for the store. `space` are the space's parameters with their distributions in words.
    [[nodiscard]] std::string json(const std::map<std::string, std::string>& space) const;
    /// One line for each setting: name, value, origin.
    [[nodiscard]] std::string report() const;

private:
    /// Throws bad_value for policies that several objectives cannot have.
    void require_for_objectives() const;

    StudyArguments arguments_;
    script::StudyScript script_;
    script::StudyScript silent_;
    std::optional<script::StudyDescription> typed_;  ///< the script's, after take_types has changed a value
    std::map<std::string, Setting> settings_;
    std::vector<DeviceWord> devices_;
    std::optional<DeviceWord> fallback_;
    bool ignores_pruner_ = false;
};

/// A setting that must be a duration; throws Error{bad_value}. A timeout is from 1 ms to a day.
[[nodiscard]] double require_seconds(const std::string& place, const std::string& text);
[[nodiscard]] std::chrono::milliseconds require_timeout(const std::string& place, const std::string& text);
/// `NAME=VALUE`; the value is a whole number, a number, true, false or a text.
[[nodiscard]] std::pair<std::string, Value> parse_assignment(const std::string& place, const std::string& text);

}  // namespace hpo::tune
