// SPDX-License-Identifier: MIT
#include <chrono>
#include <iostream>

#include "commands.hpp"
#include "hpo/failure/cause.hpp"
#include "hpo/sampler/random.hpp"
#include "hpo/sampler/suggest.hpp"
#include "hpo/store/snapshot.hpp"
#include "hpo/trainer/plugin_loader.hpp"
#include "hpo/worker/metered_account.hpp"
#include "surroundings.hpp"
#include "text.hpp"

namespace hpo::tune {
namespace {

/// Prints what a trainer tells as it comes.
class Printer final : public hpo::Progress {
public:
    explicit Printer(std::string metric) : metric_{std::move(metric)} {}
    bool report(std::int64_t step, double value) override {
        std::cout << "step " << step << ": " << metric_ << " " << number(value) << "  (" << duration(elapsed()) << ")" << std::endl;
        return true;
    }
    [[nodiscard]] bool stop_requested() const override { return false; }
    void memory(const MemoryMark& mark) override {
        std::cout << "memory at " << mark.name << ": " << (mark.reading.allocated ? format_bytes(*mark.reading.allocated) : "?")
                  << " in use";
        if (mark.reading.peak_allocated) std::cout << ", peak " << format_bytes(*mark.reading.peak_allocated);
        if (mark.reading.capacity) std::cout << ", of " << format_bytes(*mark.reading.capacity);
        std::cout << std::endl;
    }
    void log(std::string_view line) override { std::cout << line << std::endl; }
    [[nodiscard]] double elapsed() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

private:
    std::string metric_;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// The trial of the store that `--trial` names: a number, or "best". The store is only read.
Trial stored_trial(const Settings& settings, const std::string& which) {
    store::Snapshot store{settings.text("store")};
    const Study study = store.study(settings.text("study"));
    const std::vector<Trial> trials = store.trials(study);
    if (which == "best") {
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
};

int try_one(const StudyArguments& arguments, const TryOptions& options) {
    const Settings settings{arguments};
    const script::StudyDescription& study = settings.description();
    const auto folders = plugin_folders(arguments.plugin_dirs);
    const TrainerInfo info = describe_trainer(settings);
    require_known_to_trainer(settings, info);
    const std::string device = chosen_device(settings, info);

    // Values that are not fixed come from the stored trial, else at random.
    FixedValues fixed = settings.fixed();
    ExecutionPlan plan;
    std::int64_t trial_number = 0;
    if (!options.trial.empty()) {
        const Trial stored = stored_trial(settings, options.trial);
        trial_number = stored.number;
        for (const Param& param : stored.params) fixed.emplace_back(param.name, param.value());
        if (!stored.attempts.empty()) plan = stored.attempts.back().plan;
    }
    const Seed seed{static_cast<std::uint64_t>(settings.whole("seed", 0))};
    sampler::Random random;
    const History nothing{study.name, {}, {}, {}};
    const ParamSet params = suggest_params(random, settings.script().space(), TrialContext{trial_number, nothing}, seed, fixed);
    for (const auto& [name, value] : settings.fixed()) {
        if (!params.find(name)) std::cerr << "hpo-tune: note: --fix " << name << ": the space does not ask for it under these values\n";
    }
    plan.device = device;
    if (const auto batch = params.number(info.effective_batch_parameter)) plan.effective_batch = static_cast<std::int64_t>(*batch);
    if (options.micro_batch > 0) plan.micro_batch = options.micro_batch;

    TrainerJob job{.study = settings.text("study"),
                   .trial = trial_number,
                   .options = {study.trainer_options.begin(), study.trainer_options.end()},
                   .metric = study.objectives[0].metric,
                   .plan = plan,
                   .seed = seed.derive(static_cast<std::uint64_t>(trial_number)).derive("trainer").value};
    for (const Param& param : params) job.params.emplace(param.name, param.value());
    std::optional<device::MeteredDevice> metered;
    if (const auto budget = device_budget(settings); budget && device == "cpu") {
        metered.emplace(worker::make_metered_device("/dev/shm", *budget));
        job.metered_device = metered->file().string();
    }

    std::cout << "trial of " << job.study << " with trainer " << info.name << " on " << device << "\n";
    for (const Param& param : params) std::cout << "  " << param.name << " = " << display_text(param.value()) << "\n";
    if (plan.effective_batch) {
        std::cout << "  run as " << plan.accumulation_steps() << " x micro-batch " << *plan.effective_micro_batch() << "\n";
    }
    // In this process, so that a debugger sees the trainer. Never destroyed: what LibTorch starts has no orderly end.
    PluginFolders search = folders;
    for (const std::string& folder : describe_trainers(arguments.plugin_dirs, settings.plugin_timeout()).folders)
        search.emplace_back(folder);
    Trainer& trainer = *load_trainer(info.name, search).release();
    Printer printer{job.metric};
    AttemptOutcome outcome = trainer.run(job, printer);

    for (const MemoryMark& mark : outcome.memory) printer.memory(mark);
    for (const auto& [name, json] : outcome.attributes) std::cout << name << ": " << json << "\n";
    if (outcome.failure) {
        OomContext context{.capacity = device_budget(settings)};
        for (const MemoryMark& mark : outcome.memory) {
            if (mark.name == "trial_start") context.at_start = mark.reading;
        }
        explain_oom(*outcome.failure, context);
        const Failure& failure = *outcome.failure;
        std::cout << "failed after " << duration(printer.elapsed()) << ": " << to_text(failure.kind)
                  << (failure.where.empty() ? "" : " in " + failure.where) << "\n"
                  << failure.message << "\n";
        if (failure.cause) std::cout << "cause: " << to_text(*failure.cause) << ", " << failure.evidence << "\n";
        if (!failure.traceback.empty()) std::cout << failure.traceback << "\n";
        return 1;
    }
    for (const double value : outcome.values) std::cout << job.metric << " " << number(value) << "\n";
    std::cout << "done in " << duration(printer.elapsed());
    if (outcome.peak_allocated) std::cout << ", peak " << format_bytes(*outcome.peak_allocated);
    std::cout << (outcome.approximate ? ", approximate: this plan is not the same computation as one large batch" : "") << "\n";
    return 0;
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
        ->check(CLI::PositiveNumber);
    command->footer("Parameters that are neither fixed nor taken from a stored trial are drawn at random (--seed).\nNothing is stored.");
    actions.on(command, [arguments, options] { return try_one(*arguments, *options); });
}

}  // namespace hpo::tune
