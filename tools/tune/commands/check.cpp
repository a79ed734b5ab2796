// SPDX-License-Identifier: MIT
#include <filesystem>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "hpo/core/device_word.hpp"
#include "hpo/store/location.hpp"
#include "hpo/store/snapshot.hpp"
#include "hpo/store/store_rules.hpp"
#include "hpo/trainer/info_problems.hpp"
#include "support/json.hpp"
#include "support/text.hpp"
#include "tune/commands/commands.hpp"
#include "tune/commands/usage_lines.hpp"
#include "tune/device/chosen_device.hpp"
#include "tune/device/device_memory.hpp"
#include "tune/device/own_trainer.hpp"
#include "tune/device/parallelism.hpp"
#include "tune/device/run_devices.hpp"
#include "tune/device/shared_device.hpp"
#include "tune/display/cards.hpp"
#include "tune/models/best_model.hpp"
#include "tune/optimize/run_program.hpp"
#include "tune/prediction/trainer_look.hpp"
#include "tune/settings/fixed_parameters.hpp"
#include "tune/settings/proposals.hpp"
#include "tune/settings/stored_study.hpp"
#include "tune/settings/value_checks.hpp"

namespace hpo::tune {
namespace {

/// Collects lines, each once, in the order in which they were found.
class Lines {
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

/// What a check has found: problems, and what the trainer says of its data.
struct Findings {
    Lines problems;
    Lines remarks;
};

/// The devices to look with. If the study asks for a GPU and this machine has none, steps are made on the CPU, and a remark says so.
LookDevices look_devices(const Settings& settings, const TrainerInfo& info, Findings& findings) {
    try {
        const std::string device = chosen_device(settings, info);
        return {.steps = device, .predictions = device};
    } catch (const Error& error) {
        if (error.code() != Errc::no_device || !visible_cards().empty()) throw;
        findings.remarks.add(std::string{error.what()} +
                             ". CUDA is looked at by a dry run, and all else on the CPU: a step on a GPU was not tried");
        return {.steps = "cpu", .predictions = settings.devices().front().name};
    }
}

/// Finds everything; what the settings are made of comes first, and each step needs those before it.
void find_problems(Settings& settings, Findings& findings) {
    Lines& problems = findings.problems;
    problems.guard([&] { (void)settings.policies(); });
    if (!problems.guard([&] { (void)settings.plan(); })) return;
    for (const auto& value_check : value_checks(settings)) problems.guard(value_check);
    std::vector<Trial> stored;
    Study study;
    problems.guard([&] {
        const std::string file = store::file_of(settings.text("store"));
        const std::string place = "store '" + file + "'";
        require_writable_store(file);
        require_room_for_store(file, {});
        store::require_new_study(place, settings.text("study"), settings.directions());
        if (!std::filesystem::exists(file)) return;
        store::Snapshot snapshot{file};
        try {
            study = snapshot.study(settings.text("study"));
        } catch (const Error& error) {
            if (error.code() == Errc::unknown_name) return;  // `run` begins it
            throw;
        }
        store::require_same_directions(place, study, settings.directions());
        stored = snapshot.trials(study);
        require_same_identity(study, settings);
    });
    std::optional<TrainerInfo> info;
    problems.guard([&] { info = describe_trainer(settings); });
    if (!info) return;
    const std::vector<std::string> wrong = info_problems(*info);
    for (const std::string& problem : wrong) problems.add("trainer " + info->name + ": " + problem);
    problems.guard([&] { require_known_to_trainer(settings, *info); });
    if (!wrong.empty()) return;  // what is held against a wrong description would only follow from it
    problems.guard([&] { require_same_options(study, stored, settings, *info); });
    problems.guard([&] { require_plan(settings, *info); });
    if (const std::string& folder = settings.text("save-best"); !folder.empty()) {
        problems.guard([&] {
            require_saves_models(settings.place("save-best"), *info);
            if (folder != "true") require_usable_model_folder(folder, model_of_study(settings, *info));
        });
    }
    LookDevices devices{.steps = "cpu", .predictions = "cpu"};
    problems.guard([&] { devices = look_devices(settings, *info, findings); });
    const std::string& device = devices.predictions;
    std::vector<ParamSet> drawn;
    problems.guard([&] {
        if (devices.steps != "cpu" || is_cpu(settings.devices().front().name)) require_devices(settings, *info);
    });
    problems.guard([&] {
        for (const std::string& remark : beyond_machine(settings, device)) findings.remarks.add(remark);
    });
    problems.guard([&] {
        if (device_capacity(settings, device)) require_usable_ledger(settings);
    });
    const auto with_place = [&](const auto& work) {
        try {
            work();
        } catch (const Error& error) {
            throw placed_fixed(settings, error);
        }
    };
    if (!problems.guard([&] { with_place([&] { require_fixed(settings); }); })) return;
    problems.guard([&] { require_enqueued(settings); });
    problems.guard([&] { drawn = draw_proposals(settings); });
    if (drawn.empty()) return;
    problems.guard([&] { require_same_parameters(stored, drawn); });
    problems.guard([&] {
        for (const std::string& problem : parameters_beyond_sampler(settings, drawn)) problems.add(problem);
    });
    problems.guard([&] { require_micro_batch(settings, *info, drawn); });
    problems.guard([&] {
        if (const std::string few = fewer_combinations(settings); !few.empty()) findings.remarks.add(few);
    });
    for (const std::string& problem : unsuitable_parameters(settings, *info, drawn)) problems.add(problem);
    for (const std::string& name : never_asked(settings, drawn))
        problems.add("fixed parameter '" + name + "': the space never asks for it");
    const RuleProblems rules = rule_problems(settings, *info, drawn);
    for (const auto* const found : {&rules.impossible, &rules.failing}) {
        for (const std::string& problem : *found) problems.add(problem);
    }
    for (const std::string& remark : rules.idle) findings.remarks.add(remark);
    for (const std::string& remark : settings.probe_remarks()) findings.remarks.add(remark);
    for (const std::string& remark : unused_parameters(settings, *info, drawn)) findings.remarks.add(remark);
    // With names in order, the trainer can look for itself.
    if (!problems.list().empty()) return;
    problems.guard([&] {
        const TrainerLook look = look_with_trainer(settings, *info, devices, drawn);
        for (const std::string& problem : look.problems) problems.add(problem);
        for (const std::string& remark : look.remarks) findings.remarks.add(remark);
    });
}

int check(const StudyArguments& arguments, bool as_json) {
    Findings findings;
    const Lines& problems = findings.problems;
    std::optional<Settings> settings;
    if (findings.problems.guard([&] { settings.emplace(arguments); })) find_problems(*settings, findings);
    else if (!as_json && !std::filesystem::exists(arguments.script)) throw Error{Errc::script, problems.list().front()};
    const bool good = problems.list().empty();
    if (as_json) {
        tools::print({{"script", arguments.script},
                      {"study", settings ? tools::Json(settings->text("study")) : tools::Json(nullptr)},
                      {"trainer", settings ? tools::Json(settings->description().trainer) : tools::Json(nullptr)},
                      {"ok", good},
                      {"problems", problems.list()},
                      {"remarks", findings.remarks.list()}});
        return good ? 0 : exit_code(Errc::bad_value);
    }
    for (const std::string& remark : findings.remarks.list()) std::cout << tools::on_one_line(remark) << "\n";
    for (const std::string& problem : problems.list()) std::cerr << "hpo-tune: error: " << tools::on_one_line(problem) << "\n";
    if (good) {
        std::cout << arguments.script << ": study " << settings->text("study") << ", trainer " << settings->description().trainer
                  << ": no problems found\n";
        return 0;
    }
    std::cerr << arguments.script << ": " << tools::counted(problems.list().size(), "problem") << "\n";
    return exit_code(Errc::bad_value);
}

}  // namespace

void add_check(tools::CommandLine& line) {
    auto* command = line.add("check", "Check everything that can be checked without training");
    command->formatter(
        std::make_shared<UsageLines>(std::vector<std::string>{"[OPTIONS] SCRIPT", "[OPTIONS] -- python train.py [ARGUMENTS]"}));
    show_card_option(command);
    auto arguments = std::make_shared<StudyArguments>();
    std::vector<std::string> words = words_of_run();
    for (const char* shown_only : {"progress", "log", "log-size", "store-wait"})
        std::erase(words, shown_only);  // nothing to check in these
    add_study_arguments(command, arguments, words);
    command->get_option("SCRIPT")->required(false);
    command->footer(
        "A program that calls study.optimize of Optuna is started, and ended there. Prints how run would run its study.\n"
        "Of a script, it checks every name and type, the trainer, its data, one batch and the range of labels, and prints what the trainer "
        "says about its data.\nExit 0: no problems; 2: each problem on a line.");
    auto as_json = std::make_shared<bool>(false);
    command->add_flag("--json", *as_json, "as JSON, on stdout; the exit status is the same");
    line.on(command, [arguments, as_json, &line] {
        const std::vector<std::string>& behind = line.behind_dashes();
        if (arguments->script.empty() == behind.empty())
            throw Error{Errc::usage, "command line: expected either SCRIPT or -- PROGRAM ARGUMENTS"};
        if (arguments->script.ends_with(".py"))
            throw Error{Errc::usage, "command line: " + arguments->script +
                                         ": no study script; a program goes behind --: hpo-tune check -- python " + arguments->script};
        if (behind.empty()) return check(*arguments, *as_json);
        arguments->program = behind;
        return check_program(*arguments, *as_json);
    });
}

}  // namespace hpo::tune
