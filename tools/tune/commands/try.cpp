// SPDX-License-Identifier: MIT
#include <iostream>

#include "hpo/sampler/random.hpp"
#include "hpo/sampler/suggest.hpp"
#include "hpo/store/snapshot.hpp"
#include "hpo/trainer/plugin_loader.hpp"
#include "hpo/worker/supervisor/metered_account.hpp"
#include "support/options.hpp"
#include "tune/commands/commands.hpp"
#include "tune/device/surroundings.hpp"
#include "tune/display/foreground.hpp"
#include "tune/settings/fixed_parameters.hpp"
#include "tune/settings/proposals.hpp"

namespace hpo::tune {
namespace {

/// The trial of the store that `--trial` names: a number, or "best". The store is only read.
Trial stored_trial(const Settings& settings, const std::string& which) {
    store::Snapshot store{settings.text("store")};
    const Study study = store.study(settings.text("study"));
    const std::vector<Trial> trials = store.trials(study);
    if (which == "best") {
        if (study.directions.size() > 1)
            throw Error{Errc::usage, "--trial best: study " + study.name + " has " + std::to_string(study.directions.size()) +
                                         " objectives; expected a number: hpo-analyze best lists the Pareto front"};
        const Trial* best = best_trial(trials, study.directions.at(0));
        if (!best) throw Error{Errc::usage, "--trial best: study " + study.name + " has no complete trial yet"};
        return *best;
    }
    const auto number = field_traits<std::int64_t>::parse(which);
    if (!number || *number < 0 || static_cast<std::size_t>(*number) >= trials.size()) {
        throw bad_value("--trial", "'" + which + "'", "best, or a number below " + std::to_string(trials.size()));
    }
    return trials[static_cast<std::size_t>(*number)];
}

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

/// Values that are not fixed come from the stored trial, else at random.
ChosenTrial chosen_trial(const Settings& settings, const TryOptions& options, const TrainerInfo& info, const std::string& device) {
    FixedValues fixed = settings.fixed();
    ExecutionPlan plan = settings.plan();
    std::int64_t trial_number = 0;
    ParamSet set_by_rule;  // what the space does not ask for
    if (!options.trial.empty()) {
        const Trial stored = stored_trial(settings, options.trial);
        trial_number = stored.number;
        for (const Param& param : stored.attempts.empty() ? stored.params : params_of(stored, stored.attempts.back())) {
            fixed.emplace_back(param.name, param.value());
            if (!stored.params.find(param.name)) set_by_rule.set(param);
        }
        if (!stored.attempts.empty()) plan = settings.with_levers(stored.attempts.back().plan);
    }
    sampler::Random random;
    const History nothing{settings.description().name, {}, {}, {}};
    ParamSet params = suggest_params(random, settings.script().space(), TrialContext{trial_number, nothing}, seed_of(settings), fixed);
    for (const Param& param : set_by_rule) {
        if (!params.find(param.name)) params.set(param);
    }
    note_unused_fixed(settings, params);
    plan.device = device;
    if (!plan.effective_batch) plan.effective_batch = unsearched_batch(settings, info);
    if (const auto batch = params.number(info.effective_batch_parameter)) plan.effective_batch = static_cast<std::int64_t>(*batch);
    if (options.micro_batch > 0) plan.micro_batch = options.micro_batch;
    return {trial_number, std::move(params), std::move(plan)};
}

int try_one(const StudyArguments& arguments, const TryOptions& options) {
    const Settings settings{arguments};
    const script::StudyDescription& study = settings.description();
    const auto folders = plugin_folders(arguments.plugin_dirs);
    const worker::WorkerDescription described = describe_own_trainer(settings);
    const TrainerInfo& info = *described.plugins.front().info;
    require_known_to_trainer(settings, info);
    require_plan(settings, info);
    require_fixed(settings);
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

void add_try(CLI::App& app, Actions& actions) {
    auto* command = app.add_subcommand("try", "Run one trial in this process, for debugging a script or a plugin");
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
    actions.on(command, [arguments, options] { return try_one(*arguments, *options); });
}

}  // namespace hpo::tune
