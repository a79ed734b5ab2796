// SPDX-License-Identifier: MIT
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <limits>
#include <utility>

#include "best_model.hpp"
#include "checkpoint_folders.hpp"
#include "commands.hpp"
#include "fixed_parameters.hpp"
#include "hpo/analysis/best.hpp"
#include "hpo/analysis/changed_params.hpp"
#include "hpo/analysis/study_counts.hpp"
#include "hpo/failure/classify.hpp"
#include "hpo/store/location.hpp"
#include "hpo/store/sqlite.hpp"
#include "hpo/store/stored_predictions.hpp"
#include "hpo/trainer/levers.hpp"
#include "hpo/tuner.hpp"
#include "hpo/worker/pool.hpp"
#include "least_memory.hpp"
#include "printed_command.hpp"
#include "progress.hpp"
#include "proposals.hpp"
#include "shared_device.hpp"
#include "stored_study.hpp"
#include "support/counts_text.hpp"
#include "surroundings.hpp"
#include "text.hpp"

namespace hpo::tune {
namespace {

std::atomic<int> interrupts{0};

/// Once: end running trials and leave. Twice: leave at once; workers die with this process.
void on_interrupt(int /*signal*/) {
    if (interrupts.fetch_add(1) > 0) _exit(exit_code(Errc::interrupted));
}

void watch_interrupts() {
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    struct sigaction hangup {};
    for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
    sigaction(SIGHUP, nullptr, &hangup);
    // Not under nohup, where a study outlives its terminal.
    if (hangup.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
    // A reader of the progress that leaves must not end the study.
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, nullptr);
}

ProgressStyle progress_style(const Settings& settings) {
    const std::string& text = settings.text("progress");
    const bool redraws = tools::takes_escapes(STDERR_FILENO);
    // Another program may draw what a pipe gets; a terminal that cannot is not asked to.
    if (text == "bar") return redraws || isatty(STDERR_FILENO) == 0 ? ProgressStyle::bar : ProgressStyle::plain;
    if (text == "plain") return ProgressStyle::plain;
    if (text == "none") return ProgressStyle::none;
    return redraws ? ProgressStyle::bar : ProgressStyle::plain;
}

/// The trials that no other one beats in every objective, in order of number.
void print_front(const TuneResult& result, const Settings& settings) {
    const auto front = analysis::best_trials(result.trials, result.study.directions);
    if (front.empty()) {
        std::cout << "Pareto front: no trial yet\n";
        return;
    }
    std::vector<std::string> head{"  trial"};
    for (const std::string& metric : settings.objectives()) head.push_back(metric);
    std::vector<std::vector<std::string>> rows;
    for (const Trial* trial : front) {
        rows.push_back({"  " + std::to_string(trial->number)});
        for (const double value : trial->values) rows.back().push_back(number(value));
    }
    std::cout << "Pareto front: " << tools::counted(front.size(), "trial") << " (parameters: hpo-analyze best --store "
              << shell_quoted(settings.text("store")) << " --study " << shell_quoted(result.study.name) << ")\n"
              << table(head, rows);
}

void print_text(const TuneResult& result, const Settings& settings) {
    const analysis::StudyCounts counts = analysis::count(result.trials);
    std::cout << "study " << tools::on_one_line(result.study.name) << ": " << tools::states_text(counts) << "; " << tools::oom_text(counts)
              << "\n";
    if (result.study.directions.size() > 1) {
        print_front(result, settings);
    } else if (const Trial* best = result.best()) {
        std::cout << "best: " << settings.description().objectives[0].metric << " " << number(best->values[0]) << " in trial "
                  << best->number << "\n";
        std::vector<std::vector<std::string>> rows;
        for (const Param& param : best->params) rows.push_back({"  " + param.name, display_text(param.value())});
        std::cout << table({"  parameter", "value"}, rows);
        if (const Attempt* ran = analysis::last_attempt(*best)) {
            if (const std::string changed = analysis::changes_text(*best, *ran); !changed.empty())
                std::cout << "  ran with " << tools::on_one_line(changed) << "\n";
            const ExecutionPlan& plan = ran->plan;
            if (const auto micro = plan.effective_micro_batch(); micro && plan.effective_batch)
                std::cout << "  run as " << plan.accumulation_steps() << " x micro-batch " << *micro << "\n";
        }
    } else {
        std::cout << "best: none yet\n";
    }
    const bool only_others = counts.oom_attempts == 0 && counts.failed > 0;
    std::cout << "explain: hpo-analyze " << (only_others ? "failures" : "oom") << " --store " << shell_quoted(settings.text("store"))
              << " --study " << shell_quoted(result.study.name) << "\n";
}

/// JSON has no infinities: they are texts, as hpo-analyze writes them.
std::string json_number(double value) { return std::isfinite(value) ? number_text(value) : json_quote(number_text(value)); }

/// What to say of a limited device after a complete trial that measured nothing of it: the limit does not hold for this trainer.
std::optional<std::string> unmeasured_budget(const Settings& settings, const TrainerInfo& info, const Trial& trial) {
    if (trial.state != TrialState::complete || trial.attempts.empty() || !device_budget(settings)) return std::nullopt;
    const Attempt& last = trial.attempts.back();
    const auto measured = [](const MemoryMark& mark) { return mark.name != "admission" && mark.reading.allocated; };
    if (last.peak_allocated || last.peak_reserved || std::ranges::any_of(last.memory, measured)) return std::nullopt;
    return settings.place("device-memory") + ": trainer " + info.name + " has measured no memory in trial " + std::to_string(trial.number) +
           ": the limit does not bound what its trials take";
}

/// What is kept of the study's models in the end.
struct KeptModel {
    std::filesystem::path folder;
    std::optional<ModelManifest> manifest;  ///< nothing: no model
    std::string problem;                    ///< why some model could not be kept; empty: none

    [[nodiscard]] bool is_of(const Trial* best) const { return best && manifest && manifest->trial == best->number; }
};

void print_model(const KeptModel& kept, const TuneResult& result, const Settings& settings) {
    const std::string folder = shell_quoted(kept.folder.string());
    if (const auto& model = kept.manifest) {
        std::cout << "model: " << folder << " (trial " << model->trial << ", " << model->metric << " " << number(model->value)
                  << "); measure it again: " << evaluate_command(kept.folder.string(), settings.arguments().plugin_dirs) << "\n";
    }
    const Trial* best = result.best();
    if (!best || kept.is_of(best)) return;
    std::cout << "the model of the best trial was not kept; train it again: hpo-tune try " << shell_quoted(settings.arguments().script);
    for (const char* word : {"store", "study", "seed"}) {
        const Settings::Setting& setting = settings.all().at(word);
        if (setting.origin == "command line") std::cout << " --" << word << " " << shell_quoted(setting.text);
    }
    for (const std::string& assignment : settings.arguments().set) std::cout << " --set " << shell_quoted(assignment);
    std::cout << plugin_dir_words(settings.arguments().plugin_dirs) << " --trial " << best->number << " --save FOLDER\n";
}

/// The parameters that gave the trial's value where a rule changed them; else null.
std::string changed_params_json(const Trial& trial) {
    const Attempt* last = analysis::last_attempt(trial);
    return last && last->changed_params ? json_text(*last->changed_params) : "null";
}

void print_json(const TuneResult& result, const Settings& settings, const std::optional<KeptModel>& kept) {
    const analysis::StudyCounts counts = analysis::count(result.trials);
    std::cout << "{\"study\": " << json_quote(result.study.name) << ", \"store\": " << json_quote(settings.text("store"))
              << ", \"interrupted\": " << (result.interrupted ? "true" : "false") << ", \"complete\": " << counts.complete
              << ", \"pruned\": " << counts.pruned << ", \"infeasible\": " << counts.infeasible << ", \"failed\": " << counts.failed
              << ", \"interrupted_trials\": " << counts.interrupted << ", \"oom_attempts\": " << counts.oom_attempts
              << ", \"oom_trials\": " << counts.oom_trials << ", \"recovered_trials\": " << counts.recovered_trials << ", \"best\": ";
    if (const Trial* best = result.best()) {
        std::cout << "{\"trial\": " << best->number << ", \"value\": " << json_number(best->values[0])
                  << ", \"params\": " << json_text(best->params) << ", \"changed_params\": " << changed_params_json(*best) << "}";
    } else {
        std::cout << "null";
    }
    if (result.study.directions.size() > 1) {
        std::cout << ", \"front\": [";
        const char* separator = "";
        for (const Trial* trial : analysis::best_trials(result.trials, result.study.directions)) {
            std::cout << std::exchange(separator, ", ") << "{\"trial\": " << trial->number << ", \"values\": [";
            for (std::size_t i = 0; i < trial->values.size(); ++i) std::cout << (i == 0 ? "" : ", ") << json_number(trial->values[i]);
            std::cout << "], \"params\": " << json_text(trial->params) << ", \"changed_params\": " << changed_params_json(*trial) << "}";
        }
        std::cout << "]";
    }
    std::cout << ", \"model\": ";
    if (kept && kept->manifest)
        std::cout << "{\"folder\": " << json_quote(kept->folder.string()) << ", \"trial\": " << kept->manifest->trial << "}";
    else std::cout << "null";
    std::cout << "}\n";
}

/// The study, new or as it is stored; a new one is told its trainer and metric.
Study open_same_study(Store& store, const Settings& settings) {
    const Study study = store.open_study(settings.text("study"), settings.directions(), Store::Open::create_or_resume);
    require_same_identity(study, settings);
    for (const auto& [key, value] : identity(settings)) {
        if (!study.user_attributes.contains(key)) store.set_study_user_attribute(study.id, key, json_quote(value));
    }
    return study;
}

/// What the trainer finds wrong with one proposal, so that data that are missing do not fail every trial of a study. Memory
/// that does not suffice is no reason to stop: each trial has its guard and its recovery.
std::vector<std::string> problems_before_start(worker::Pool& pool, const std::string& trainer, const ParamSet& params,
                                               const ExecutionPlan& plan) {
    std::vector<TrainerProblem> found;
    try {
        found = pool.check(params, plan).problems;
    } catch (const Error& error) {  // the worker died or was slow: a trial that meets the same is recorded with what is known of it
        std::cerr << "hpo-tune: note: " << tools::on_one_line(error.what()) << "\n";
    }
    std::vector<std::string> problems;
    for (const TrainerProblem& problem : found) {
        if (is_memory(classify_text({.message = problem.what}).kind)) continue;
        problems.push_back("trainer " + trainer + ": " + (problem.where.empty() ? "" : problem.where + ": ") + problem.what);
    }
    return problems;
}

/// Says what is wrong; true when something is.
bool refused(const std::vector<std::string>& problems) {
    for (const std::string& problem : problems) std::cerr << "hpo-tune: error: " << tools::on_one_line(problem) << "\n";
    return !problems.empty();
}

/// The best trial's model after the last trial. `problem`: why the model of some trial could not be kept; empty: none.
KeptModel settled_model(BestModel& best, const TuneResult& result, const std::string& problem) {
    KeptModel kept{.folder = best.folder(), .manifest = std::nullopt, .problem = problem};
    try {
        best.settle(result.trials);  // those of processes that were killed, too
        kept.manifest = best.kept();
    } catch (const Error& error) {
        kept.problem = error.what();
    }
    return kept;
}

/// Prints what came of the run, and returns the exit status.
int conclude(const TuneResult& result, const Settings& settings, const std::optional<KeptModel>& kept, bool as_json) {
    if (as_json) print_json(result, settings, kept);
    else print_text(result, settings);
    if (kept && !as_json) print_model(*kept, result, settings);
    if (result.interrupted) return exit_code(Errc::interrupted);
    if (kept && !kept->problem.empty() && result.best() && !kept->is_of(result.best())) {
        std::cerr << "hpo-tune: error: the model of the best trial is not kept: " << tools::on_one_line(kept->problem) << "\n";
        return exit_code(Errc::store);
    }
    const analysis::StudyCounts counts = analysis::count(result.trials);
    if (counts.failed > 0 && counts.failed == counts.ended()) {
        std::cerr << "hpo-tune: error: study " << tools::on_one_line(result.study.name)
                  << (counts.failed == 1 ? ": its trial failed" : ": each of its " + std::to_string(counts.failed) + " trials failed")
                  << "\n";
        return exit_code(Errc::check_failed);
    }
    return 0;
}

/// What workers are started with, but for what they ask of the run and tell it.
worker::PoolConfig workers_config(const Settings& settings, const TrainerInfo& info, const std::string& device, const Parallelism& parallel,
                                  std::optional<std::int64_t> capacity_bytes) {
    worker::PoolConfig config = pool_config(settings, info);
    config.workers = parallel.workers;
    config.threads = parallel.threads;
    config.device_budget_bytes = capacity_bytes;
    config.device = device;
    config.device_name = device_name(device);
    config.cublas_workspace_bytes = cublas_workspace_bytes(settings, info, device);
    config.profile_timeout = std::min(settings.plugin_timeout(), config.profile_timeout);
    return config;
}

struct RunOptions {
    bool json = false;
    bool verbose = false;
};

int run(const StudyArguments& arguments, const RunOptions& options) {
    const Settings settings{arguments};
    AnyPolicies policies = settings.policies();
    const ProgressStyle style = progress_style(settings);
    TuneOptions tune{.trials = settings.whole("trials", 1),
                     .directions = settings.directions(),
                     .seed = static_cast<std::uint64_t>(settings.whole("seed", 0)),
                     .time_seconds = settings.time_seconds(),
                     .fixed = settings.fixed(),
                     .plan = settings.plan()};
    require_writable_store(store::file_of(settings.text("store")));
    require_fixed(settings);
    const auto proposals = draw_proposals(settings);
    for (const std::string& name : never_asked(settings, proposals)) {
        std::cerr << "hpo-tune: note: fixed parameter '" << name << "': the space has not asked for it in " << proposals.size()
                  << " proposals\n";
    }
    const TrainerInfo info = describe_trainer(settings);
    require_known_to_trainer(settings, info);
    require_plan(settings, info);
    if (!settings.text("save-best").empty()) require_saves_models(settings.place("save-best"), info);
    const std::string device = chosen_device(settings, info);
    const RuleProblems rules = rule_problems(settings, info, proposals);
    if (refused(unsuitable_parameters(settings, info, proposals)) || refused({rules.impossible.begin(), rules.impossible.end()}) ||
        refused({rules.failing.begin(), rules.failing.end()}))
        return exit_code(Errc::bad_value);
    Progress* shown = nullptr;
    const auto capacity = device_capacity(settings, device);
    const Parallelism parallel = parallelism(settings, device);
    std::optional<SharedDevice> shared;
    if (options.verbose) {
        std::cerr << settings.report();
        std::cerr << "trainer " << info.name << (info.libtorch_version.empty() ? "" : " on LibTorch " + info.libtorch_version)
                  << ", device " << device << ", " << parallel.workers << " workers of " << parallel.threads << " threads\n";
    }
    std::optional<store::StoredPredictions> predictions;  // once the store is known to be one
    worker::PoolConfig config = workers_config(settings, info, device, parallel, capacity);
    config.recall = [&predictions](const std::string& key) { return predictions ? predictions->find(key) : std::nullopt; };
    config.keep = [&predictions](const std::string& key, const std::string& text) {
        if (predictions) predictions->keep(key, text);
    };
    config.ledger_owners = [&shared] { return shared ? shared->room().owners() : std::vector<std::int64_t>{}; };
    config.stop_requested = [] { return interrupts.load() > 0; };
    config.note = [&shown](const std::string& text) {
        if (shown) shown->note(text);
    };
    worker::Pool pool{std::move(config)};
    const auto now = policies.guard.looks() ? pool.device_now() : std::nullopt;
    const auto shared_bytes = capacity || !now ? capacity : now->capacity;
    const bool has_it_alone = parallel.workers == 1 && device == "cpu" && settings.text("ledger") == "auto" && !now;
    if (shared_bytes && !has_it_alone) {
        shared.emplace(settings, device, *shared_bytes, [&shown](const std::string& text) {
            if (shown) shown->note(text);
        });
        if (now) shared->room().watch_others([&pool] { return pool.device_now(); });
        tune.room = &shared->room();
        const bool has_company = parallel.workers > 1 || device != "cpu" || settings.text("ledger") != "auto";
        tune.target_share = settings.target_share().value_or(has_company ? SharedDevice::half : 1);
        tune.predicts = !info.peak_sources.empty();
    }
    if (refused(problems_before_start(pool, info.name, proposals.front(), first_plan(settings, info, proposals.front(), device))))
        return exit_code(Errc::bad_value);
    const auto too_small = [&](const History& learned) {
        const auto problem = capacity ? nothing_fits(settings, info, pool, policies.guard, {device, *capacity, learned}) : std::nullopt;
        return problem && refused({*problem});
    };
    const bool is_new = !std::filesystem::exists(store::file_of(settings.text("store")));
    if (is_new && too_small({})) return exit_code(Errc::bad_value);  // and no store is made
    store::Sqlite store{settings.text("store")};
    predictions.emplace(settings.text("store"));
    std::optional<CheckpointFolders> checkpoints;
    std::optional<BestModel> best_model;
    bool told_unmeasured = false;
    std::string not_kept;                // why the model of some trial could not be
    std::function<void()> keep_options;  // of the trainer, once a trial runs with them
    Progress progress{
        {.style = style,
         .trials = tune.trials,
         .metrics = settings.objectives(),
         .device = device,
         .capacity_bytes = capacity,
         .occupancy = [&pool] { return pool.occupancy(); },
         .ledger = shared ? [&shared] { return shared->room().entries(); } : std::function<std::vector<device::LedgerEntry>()>{},
         .trial_finished =
             [&](const Trial& trial) {
                 if (auto unmeasured = told_unmeasured ? std::nullopt : unmeasured_budget(settings, info, trial)) {
                     told_unmeasured = true;
                     if (shown) shown->note(*unmeasured);
                 }
                 if (checkpoints) checkpoints->finished(trial);
                 try {
                     if (best_model) best_model->finished(trial);
                 } catch (const Error& error) {  // the study is worth more than one of its models
                     not_kept = error.what();
                     if (shown) shown->note(not_kept);
                 }
             },
         .attempt_started =
             [&keep_options] {
                 if (const auto keep = std::exchange(keep_options, nullptr)) keep();
             }}};
    tune.plan.device = device;
    inherit_allocator_settings(tune.plan);
    tune.plan.effective_batch = unsearched_batch(settings, info);
    tune.effective_batch_parameter = info.effective_batch_parameter;
    tune.refuses_plan = [&info](const ExecutionPlan& from, const ExecutionPlan& to) { return missing_lever(from, to, info.levers); };
    tune.refuses_params = [&settings, &info](const ParamSet& params) { return unsuitable_change(settings, info, params); };
    if (std::find(info.levers.begin(), info.levers.end(), "micro_batch") == info.levers.end()) {
        tune.least_micro_batch = std::numeric_limits<std::int64_t>::max();  // the guard must not shrink what would not obey
    }
    tune.run = Run{.configuration = settings.json()};
    shown = &progress;
    tune.stop_requested = [&progress, told = false]() mutable {
        if (interrupts.load() == 0) return false;
        if (!std::exchange(told, true)) progress.note("interrupted: ending the running trials; again to leave at once");
        return true;
    };
    watch_interrupts();

    const Study study = open_same_study(store, settings);
    std::vector<Trial> stored;
    store.refresh(study.id, stored);
    require_same_parameters(stored, proposals);  // before a trial is begun in vain
    require_same_options(study, stored, settings, info);
    keep_options = [&] { keep_trainer_options(store, store.path(), study, settings, info); };
    if (!is_new) {
        std::vector<Attempt> elsewhere;
        if (policies.guard.carries()) elsewhere = tuner::Bookkeeping::attempts_elsewhere(store, study.id, pool.runs_on().device_name);
        if (too_small({study.name, study.directions, stored, {}, elsewhere})) return exit_code(Errc::bad_value);
    }
    if (info.checkpoints) {
        checkpoints.emplace(store::file_of(settings.text("store")), study.id, checkpoint_conditions(settings, info));
        tune.checkpoint_folder = [&checkpoints](const Trial& trial) { return checkpoints->make(trial); };
        tune.left_checkpoints = [&checkpoints](const Trial& lost) { return checkpoints->left_by(lost); };
    }
    if (!settings.text("save-best").empty()) {
        const auto read_stored = [&] {
            store.refresh(study.id, stored);
            return stored;
        };
        best_model.emplace(
            BestModel::Settings{
                .folder = settings.best_model_folder(study.id), .about = model_of_study(settings, info), .metrics = info.metrics},
            read_stored);
        tune.model_folder = [&](std::int64_t trial) {
            try {
                return best_model->make(trial);
            } catch (const Error& error) {  // the trial counts all the same
                not_kept = error.what();
                progress.note(not_kept);
                return std::string{};
            }
        };
    }
    const Space space = settings.script().space();
    Tuner tuner{std::move(policies.sampler), std::move(policies.pruner), std::move(policies.guard), std::move(policies.recovery)};
    const TuneResult result = tuner.optimize(store, settings.text("study"), space, pool, tune, progress);
    progress.finish();
    if (checkpoints)
        checkpoints->settle(result.trials,
                            !result.interrupted && static_cast<std::int64_t>(analysis::count(result.trials).ended()) >= tune.trials);
    const auto kept = best_model ? std::optional{settled_model(*best_model, result, not_kept)} : std::nullopt;
    return conclude(result, settings, kept, options.json);
}

}  // namespace

void add_run(CLI::App& app, Actions& actions) {
    auto* command = app.add_subcommand("run", "Run a study, or go on with it");
    auto arguments = std::make_shared<StudyArguments>();
    auto options = std::make_shared<RunOptions>();
    add_study_arguments(
        command, arguments,
        {"store", "study", "trials", "time", "device", "device-memory", "ledger", "workers", "threads", "target-share", "seed", "sampler",
         "pruner", "guard", "recovery", "plugin-timeout", "progress", "save-best", "accept-changed-options"});
    command->add_flag("--json", options->json, "the result as JSON on stdout");
    command->add_flag("-v,--verbose", options->verbose, "show every setting and where it came from");
    command->footer("Ctrl-C once ends the running trials and leaves; twice leaves at once. Neither loses a finished trial.\n" +
                    std::string{exit_codes});
    actions.on(command, [arguments, options] { return run(*arguments, *options); });
}

}  // namespace hpo::tune
