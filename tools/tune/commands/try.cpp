// SPDX-License-Identifier: MIT
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "hpo/sampler/random.hpp"
#include "hpo/sampler/suggest.hpp"
#include "hpo/store/snapshot.hpp"
#include "hpo/trainer/plugin_loader.hpp"
#include "hpo/worker/supervisor/metered_account.hpp"
#include "support/options.hpp"
#include "support/study_attributes.hpp"
#include "tune/commands/commands.hpp"
#include "tune/device/chosen_device.hpp"
#include "tune/device/device_memory.hpp"
#include "tune/device/own_trainer.hpp"
#include "tune/device/worker_config.hpp"
#include "tune/display/foreground.hpp"
#include "tune/settings/fixed_parameters.hpp"
#include "tune/settings/proposals.hpp"

namespace hpo::tune {
namespace {

/// Throws bad_value where the study's trials ran with another trainer than the script has.
void require_same_trainer(const Settings& settings, const Study& study, const std::string& which) {
    const auto stored = study.system_attributes.find(tools::trainer_attribute);
    const std::string& trainer = settings.description().trainer;
    if (stored == study.system_attributes.end() || stored->second == json_quote(trainer)) return;
    throw bad_value("--trial " + which, "trainer \"" + trainer + "\" in " + settings.arguments().script,
                    "trainer " + stored->second + ", which study " + study.name + " has");
}

/// The trial of the store that `--trial` names: a number, or "best". The store is only read.
Trial stored_trial(const Settings& settings, const std::string& which) {
    store::Snapshot store{settings.text("store")};
    const Study study = store.study(settings.text("study"));
    require_same_trainer(settings, study, which);
    const std::vector<Trial> trials = store.trials(study);
    if (which == "best") {
        if (study.directions.size() > 1)
            throw Error{Errc::usage, "--trial best: study " + study.name + " has " + std::to_string(study.directions.size()) +
                                         " objectives; expected a number: hpo-analyze best lists the Pareto front"};
        const auto best = analysis::best_trials(trials, study.directions);
        if (best.empty()) throw Error{Errc::usage, "--trial best: study " + study.name + " has no complete trial yet"};
        return *best.front();
    }
    const auto number = field_traits<std::int64_t>::parse(which);
    const auto found = number ? std::ranges::find(trials, *number, &Trial::number) : trials.end();
    if (found == trials.end()) throw bad_value("--trial", "'" + which + "'", "best, or a number below " + std::to_string(trials.size()));
    if (found->params.empty())
        throw Error{Errc::usage, "--trial " + which + ": the trial of study " + study.name + " is " + std::string{to_text(found->state)} +
                                     " and has no parameters"};
    return *found;
}

/// A value that a person or a stored trial gives a parameter.
struct GivenValue {
    Value value;
    std::string place;  ///< for messages: who gives it
    bool is_stored = false;
};

/// Answers a space from given values alone. What they do not have is an error, which a script may word as its own.
class GivenValues final : public ParamSource {
public:
    GivenValues(std::map<std::string, GivenValue, std::less<>> values, std::string trial, std::string script)
        : values_{std::move(values)}, trial_{std::move(trial)}, script_{std::move(script)} {}

    double draw(const std::string& name, const Distribution& distribution, const Narrowing& within, const ParamSet& /*so_far*/) override {
        const auto given = values_.find(name);
        if (given == values_.end()) {
            refuse_with(Error{Errc::bad_value, trial_ + " has no parameter '" + name + "'; " + script_ + " asks for it: " +
                                                   describe(distribution) + "; --fix " + name + "=VALUE gives it a value"});
        }
        const auto internal = to_internal_as_written(distribution, given->second.value);
        if (internal && within.admits(*internal)) return *internal;
        const std::string got = display_text(given->second.value) + (internal ? ", which the trial's narrowing leaves out" : "");
        refuse_with(bad_value(given->second.place, got, describe(distribution) + ", as in " + script_));
    }

    /// The parameters of a space under these values. Throws the first error of a value, and Error{bad_value} for a stored parameter that
    /// the space does not ask for. Where --fix replaces stored values, others may then have no use.
    [[nodiscard]] ParamSet ask(const Space& space, std::int64_t number, bool all_stored) {
        SpaceTrial trial{*this, number};
        try {
            space(trial);
        } catch (const SpaceRejection& rejection) {
            throw Error{Errc::bad_value, trial_ + " has parameters that the space refuses: " + rejection.reason};
        } catch (const Error&) {
            if (refusal_) throw Error{*refusal_};
            throw;
        }
        if (refusal_) throw Error{*refusal_};
        for (const auto& [name, given] : values_) {
            if (!given.is_stored || trial.params().find(name)) continue;
            const std::string unasked = trial_ + " has parameter '" + name + "' = " + display_text(given.value) + "; " + script_;
            if (all_stored) throw Error{Errc::bad_value, unasked + " does not ask for it"};
            std::cerr << "hpo-tune: note: " << unasked << " does not ask for it beside the values of --fix\n";
        }
        return trial.params();
    }

private:
    [[noreturn]] void refuse_with(const Error& error) {
        if (!refusal_) refusal_ = error;
        throw Error{*refusal_};
    }

    std::map<std::string, GivenValue, std::less<>> values_;
    std::string trial_;
    std::string script_;
    std::optional<Error> refusal_;
};

struct TryOptions {
    std::string trial;
    std::int64_t micro_batch = 0;
    std::string save;  ///< a folder for the model; empty: it is not kept
    bool json = false;
    bool verbose = false;
};

Seed seed_of(const Settings& settings) { return Seed{static_cast<std::uint64_t>(settings.whole("seed", 0))}; }

/// What `try` runs.
struct ChosenTrial {
    std::int64_t number = 0;
    ParamSet params;
    ExecutionPlan plan;
};

/// The parameters of a stored trial under the script's space, with the values of --fix in the place of its own. Nothing is drawn.
ParamSet params_again(const Settings& settings, const std::string& which, const Trial& stored) {
    const std::string& script = settings.arguments().script;
    const std::string place = "--trial " + which + ": trial " + std::to_string(stored.number) + " of study " + settings.text("study");
    std::map<std::string, GivenValue, std::less<>> values;
    ParamSet set_by_rule;  // what the space does not ask for
    for (const Param& param : stored.attempts.empty() ? stored.params : params_of(stored, stored.attempts.back())) {
        const bool was_drawn = stored.params.find(param.name) != nullptr;
        values[param.name] = {param.value(), place + ": parameter '" + param.name + "'", was_drawn};
        if (!was_drawn) set_by_rule.set(param);
    }
    bool all_stored = true;
    for (const auto& [name, value] : settings.fixed()) {
        const auto had = values.find(name);
        const bool differs = had != values.end() && had->second.value != value;
        const bool on_command_line = is_fixed_by_option(settings, name);
        if (differs && !on_command_line)
            throw bad_value(had->second.place, display_text(had->second.value), display_text(value) + ", which " + script + " fixes");
        if (had != values.end() && !differs) continue;
        all_stored = all_stored && !differs;
        values[name] = {value, (on_command_line ? "--fix " : script + ": fix ") + name};
    }
    ParamSet params = GivenValues{std::move(values), place, script}.ask(settings.script().space(), stored.number, all_stored);
    for (const Param& param : set_by_rule) {
        if (!params.find(param.name)) params.set(param);
    }
    return params;
}

/// Values that are not fixed come from the stored trial, else at random.
ChosenTrial chosen_trial(const Settings& settings, const TryOptions& options, const TrainerInfo& info, const std::string& device) {
    ExecutionPlan plan = settings.plan();
    std::int64_t trial_number = 0;
    ParamSet params;
    if (options.trial.empty()) {
        sampler::Random random;
        const History nothing{settings.description().name, {}, {}, {}};
        try {
            params = suggest_params(random, settings.script().space(), TrialContext{0, nothing}, seed_of(settings), settings.fixed());
        } catch (const FixedValueError& error) {
            throw named_by_option(settings, error);
        }
    } else {
        const Trial stored = stored_trial(settings, options.trial);
        trial_number = stored.number;
        params = params_again(settings, options.trial, stored);
        if (!stored.attempts.empty()) plan = settings.with_levers(stored.attempts.back().plan);
    }
    note_unused_fixed(settings, params);
    plan.device = device;
    if (!plan.effective_batch) plan.effective_batch = unsearched_batch(settings, info);
    if (const auto batch = params.whole_number(info.effective_batch_parameter)) plan.effective_batch = batch;
    if (options.micro_batch > 0) plan.micro_batch = options.micro_batch;
    return {trial_number, std::move(params), std::move(plan)};
}

int try_one(const StudyArguments& arguments, const TryOptions& options) {
    Settings settings{arguments};
    const auto folders = plugin_folders(arguments.plugin_dirs);
    const worker::WorkerDescription described = describe_own_trainer(settings);
    const TrainerInfo& info = *described.plugins.front().info;
    settings.take_types(info);
    const script::StudyDescription& study = settings.description();
    require_known_to_trainer(settings, info);
    require_plan(settings, info);
    try {
        require_fixed(settings);
    } catch (const Error& error) {
        throw named_by_option(settings, error);
    }
    if (!options.save.empty()) require_saves_models("--save", info);
    const std::string device = chosen_device(settings, info);

    const auto [trial_number, params, plan] = chosen_trial(settings, options, info, device);

    TrainerJob job{.study = settings.text("study"),
                   .trial = trial_number,
                   .options = {study.trainer_options.begin(), study.trainer_options.end()},
                   .metric = study.objectives[settings.reported_objective()].metric,
                   .objectives = several_objectives(settings),
                   .plan = plan,
                   .seed = seed_of(settings).derive(static_cast<std::uint64_t>(trial_number)).derive("trainer").value};
    for (const Param& param : params) job.params.emplace(param.name, param.value());
    std::optional<device::MeteredDevice> metered;
    if (const auto budget = device_budget(settings); budget && device == "cpu") {
        metered.emplace(worker::make_metered_device("/dev/shm", *budget));
        job.metered_device = metered->file().string();
    }

    if (!options.json) {
        std::cout << "trial of " << job.study << " with trainer " << info.name << " on " << device << "\n";
        for (const Param& param : params) std::cout << "  " << param.name << " = " << display_text(param.value()) << "\n";
        if (plan.effective_batch) {
            std::cout << "  run as " << plan.accumulation_steps() << " x micro-batch " << *plan.effective_micro_batch() << "\n";
        }
    }
    PluginFolders search = folders;
    for (const std::string& folder : described.folders) search.emplace_back(folder);
    // In this process, so that a debugger sees the trainer. Never destroyed: what LibTorch starts has no orderly end.
    Trainer& trainer = *load_trainer(info.name, search).release();
    ForegroundOptions foreground{.budget_bytes = device_budget(settings),
                                 .json = options.json,
                                 .verbose = options.verbose,
                                 .plugin_dirs = settings.arguments().plugin_dirs};
    if (options.save.empty()) return run_in_foreground(trainer, job, params, foreground);
    NewModel model{options.save};
    job.model_folder = model.path();
    foreground.model = model.final_path();
    foreground.completed = [&](const AttemptOutcome& outcome) {
        ModelManifest manifest = model_of_study(settings, info);
        manifest.trial = trial_number;
        manifest.params = job.params;
        manifest.plan = job.plan;
        manifest.value = outcome.values.at(settings.reported_objective());
        adopt_attributes(manifest, outcome.attributes, info.metrics);
        model.commit(std::move(manifest));
    };
    return run_in_foreground(trainer, job, params, foreground);
}

}  // namespace

void add_try(tools::CommandLine& line) {
    auto* command = line.add("try", "Run one trial in this process, for debugging a script or a plugin");
    auto arguments = std::make_shared<StudyArguments>();
    auto options = std::make_shared<TryOptions>();
    add_study_arguments(command, arguments, {"store", "study", "device", "device-memory", "seed", "plugin-timeout"});
    command->add_option("--trial", options->trial, "take the parameters and the plan of a stored trial: a number, or best")
        ->type_name("N|best");
    command->add_option("--micro-batch", options->micro_batch, "examples in one pass; the effective batch stays")
        ->check(tools::at_least(1));
    command->add_option("--save", options->save, "keep the finished model in this folder, which must be new")->type_name("FOLDER");
    command->add_flag("-v,--verbose", options->verbose, "also show the stack of an exception");
    command->add_flag("--json", options->json, "the result as JSON on stdout; what the trainer prints goes to stderr");
    command->footer(
        "Parameters that are neither fixed nor taken from a stored trial are drawn at random (--seed).\nNothing is written to the "
        "store.\n" +
        std::string{exit_codes});
    line.on(command, [arguments, options] { return try_one(*arguments, *options); });
}

}  // namespace hpo::tune
