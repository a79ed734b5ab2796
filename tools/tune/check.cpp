// SPDX-License-Identifier: MIT
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <set>

#include "commands.hpp"
#include "hpo/store/snapshot.hpp"
#include "hpo/worker/pool.hpp"
#include "proposals.hpp"
#include "surroundings.hpp"

namespace hpo::tune {
namespace {

/// Collects problems, each once, in the order in which they were found.
class Problems {
public:
    void add(const std::string& what) {
        if (seen_.insert(what).second) list_.push_back(what);
    }
    /// Runs a check that throws at its first problem; false when it did.
    template <class F>
    bool guard(F&& check) {
        try {
            check();
            return true;
        } catch (const Error& error) {
            add(error.what());
            return false;
        }
    }
    [[nodiscard]] const std::vector<std::string>& list() const noexcept { return list_; }

private:
    std::set<std::string> seen_;
    std::vector<std::string> list_;
};

/// Every parameter that the space asks for must be one that the trainer understands.
std::vector<ParamSet> checked_proposals(const Settings& settings, const TrainerInfo& info, Problems& problems) {
    std::vector<std::string> known;
    for (const TrainerParameter& parameter : info.parameters) known.push_back(parameter.name);
    std::vector<ParamSet> drawn;
    problems.guard([&] { drawn = draw_proposals(settings); });
    for (const ParamSet& params : drawn) {
        for (const Param& param : params) {
            if (std::find(known.begin(), known.end(), param.name) != known.end()) continue;
            problems.add(unknown_name(settings.arguments().script + ": trainer " + info.name, "parameter", param.name, known).what());
        }
    }
    if (!drawn.empty()) {
        for (const std::string& name : never_asked(settings, drawn))
            problems.add("fixed parameter '" + name + "': the space never asks for it");
    }
    return drawn;
}

/// Proposals that differ in a choice or a whole branch, as few as show every choice of every categorical once.
std::vector<ParamSet> representatives(const std::vector<ParamSet>& drawn) {
    std::set<std::string> shown;
    std::vector<ParamSet> chosen;
    for (const ParamSet& params : drawn) {
        bool adds = chosen.empty();
        for (const Param& param : params) {
            if (!hpo::holds<CategoricalDistribution>(*param.distribution)) continue;
            adds = shown.insert(param.name + "=" + json_text(param.value())).second || adds;
        }
        if (adds) chosen.push_back(params);
    }
    return chosen;
}

int check(const StudyArguments& arguments) {
    Problems problems;
    std::optional<Settings> settings;
    if (problems.guard([&] { settings.emplace(arguments); })) {
        problems.guard([&] { (void)settings->policies(); });
        problems.guard([&] { (void)settings->whole("trials", 0); });
        problems.guard([&] { (void)settings->whole("seed", 0); });
        problems.guard([&] { (void)settings->time_seconds(); });
        problems.guard([&] { (void)settings->plugin_timeout(); });
        problems.guard([&] { (void)device_budget(*settings); });
        problems.guard([&] {
            const std::string& store = settings->text("store");
            if (!std::filesystem::exists(store)) return;
            store::Snapshot snapshot{store};
            (void)snapshot.studies();
        });
        std::optional<TrainerInfo> info;
        problems.guard([&] { info = describe_trainer(*settings); });
        if (info) {
            problems.guard([&] { require_known_to_trainer(*settings, *info); });
            std::string device = "cpu";
            problems.guard([&] { device = chosen_device(*settings, *info); });
            const auto drawn = checked_proposals(*settings, *info, problems);
            // With names in order, the trainer looks at data, a batch and labels; one worker, no training.
            if (problems.list().empty() && !drawn.empty()) {
                problems.guard([&] {
                    worker::Pool pool{
                        {.worker_program = worker_program(),
                         .trainer = info->name,
                         .plugin_folders = plugin_folders(arguments.plugin_dirs),
                         .options = {settings->description().trainer_options.begin(), settings->description().trainer_options.end()},
                         .metric = settings->description().objectives[0].metric,
                         .device = device,
                         .start_timeout = settings->plugin_timeout(),
                         .check_timeout = settings->plugin_timeout()}};
                    for (const ParamSet& params : representatives(drawn)) {
                        ExecutionPlan plan{.device = device};
                        if (const auto batch = params.number(info->effective_batch_parameter))
                            plan.effective_batch = static_cast<std::int64_t>(*batch);
                        for (const TrainerProblem& problem : pool.check(params, plan)) problems.add(problem.where + ": " + problem.what);
                    }
                });
            }
        }
    }
    for (const std::string& problem : problems.list()) std::cerr << "hpo-tune: error: " << problem << "\n";
    if (problems.list().empty()) {
        std::cout << arguments.script << ": study " << settings->text("study") << ", trainer " << settings->description().trainer
                  << ": no problems found\n";
        return 0;
    }
    std::cerr << arguments.script << ": " << problems.list().size() << (problems.list().size() == 1 ? " problem\n" : " problems\n");
    return 2;
}

}  // namespace

void add_check(CLI::App& app, Actions& actions) {
    auto* command = app.add_subcommand("check", "Check everything that can be checked without training");
    auto arguments = std::make_shared<StudyArguments>();
    add_study_arguments(command, arguments,
                        {"store", "study", "trials", "time", "device", "device-memory", "workers", "seed", "sampler", "pruner", "guard",
                         "recovery", "plugin-timeout"});
    command->footer(
        "Looks at the script, every name and type, the trainer, its data, one batch, the range of labels.\nExit 0: no problems; 2: each "
        "problem on a line.");
    actions.on(command, [arguments] { return check(*arguments); });
}

}  // namespace hpo::tune
