// SPDX-License-Identifier: MIT
#include "tune/optimize/run_program.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

#include "hpo/base/error.hpp"
#include "hpo/base/plain_text.hpp"
#include "hpo/store/location.hpp"
#include "hpo/store/snapshot.hpp"
#include "hpo/store/sqlite.hpp"
#include "support/json.hpp"
#include "support/terminal.hpp"
#include "support/text.hpp"
#include "tune/device/own_trainer.hpp"
#include "tune/device/run_devices.hpp"
#include "tune/optimize/optimize_call.hpp"
#include "tune/optimize/program_front.hpp"
#include "tune/settings/stored_study.hpp"
#include "tune/settings/value_checks.hpp"
#include "tune/study_run/interrupts.hpp"

namespace hpo::tune {
namespace {

/// The file of the program's source, or the program itself: what a person calls it.
std::string shown_program(const std::vector<std::string>& words) {
    for (std::size_t i = 1; i < words.size(); ++i) {
        if (words[i] == "-m" && i + 1 < words.size()) return words[i + 1];
        if (!words[i].starts_with('-')) break;
    }
    const auto file = std::ranges::find_if(words, [](const std::string& word) { return word.ends_with(".py"); });
    return file == words.end() ? words.front() : *file;
}

/// What a study is called that the program has given no name.
std::string name_of_program(const std::string& shown) {
    return shown.ends_with(".py") ? std::filesystem::path{shown}.stem().string() : std::filesystem::path{shown}.filename().string();
}

/// `name`, which the program or its file has given the study. Throws Error if no study may have it. It does not count beside --study.
std::string script_name(const StudyArguments& arguments, const std::string& name) {
    constexpr std::size_t longest = 512;
    if (arguments.words.contains("study")) return "study";
    const std::string given = "; or another one by --study NAME";
    if (name.empty() || name.size() > longest)
        throw bad_value(arguments.script, "a study name of " + std::to_string(name.size()) + " bytes", "1 to 512" + given);
    if (!is_plain_text(name))
        throw bad_value(arguments.script, "a study named " + ascii_text(name.substr(0, 80)),
                        "a name of UTF-8 characters without control characters" + given);
    return name;
}

/// True if a store would be made there.
bool is_new_file(const std::string& store) {
    std::error_code is_absent;
    return std::filesystem::file_size(store::file_of(store), is_absent) == 0 || is_absent;
}

/// A study in memory begins anew each time. So it gets a name that the store does not have. Waits for the store as the run will, and writes
/// nothing.
std::string unused_name(const Settings& settings, const std::string& wanted) {
    const std::string& store = settings.text("store");
    if (is_new_file(store)) return wanted;
    const auto tell = [](const std::string& text) { std::cerr << "hpo-tune: note: " << tools::on_one_line(text) << "\n"; };
    store::Snapshot file{store, store_patience(settings, tell, was_interrupted)};
    const std::vector<Study> studies = file.studies();
    std::string name = wanted;
    for (int i = 2; std::ranges::any_of(studies, [&](const Study& study) { return study.name == name; }); ++i)
        name = numbered_name(wanted, i);
    return name;
}

/// std::random_device would need a C library that is newer than all else does.
std::int64_t drawn_seed() {
    std::uint32_t seed = 0;
    if (::getrandom(&seed, sizeof seed, 0) != sizeof seed) seed = static_cast<std::uint32_t>(microseconds_since_epoch(now()));
    return seed >> 1U;
}

StudyArguments arguments_of(StudyArguments arguments, OptimizeCall& call) {
    arguments.script = shown_program(arguments.program);
    arguments.accept_changed_options = true;   // another argument of the program is no other study
    if (!call.seed) call.seed = drawn_seed();  // an unseeded sampler of Optuna draws anew in each study, too
    if (call.one_worker && arguments.words.insert({"workers", "1"}).second)
        call.sampler_note += ", with one worker, because it may need the value of the latest trial: --workers says another number";
    if (!call.store.empty()) arguments.words.insert_or_assign("store", call.store);
    const std::string name = script_name(arguments, call.study.empty() ? name_of_program(arguments.script) : call.study);
    arguments.script_text = script_text(call, arguments.program, name);
    if (call.store.empty() && call.copy_of.empty() && !arguments.words.contains("study")) {
        arguments.new_study = name;
        arguments.script_text = script_text(call, arguments.program, unused_name(Settings{arguments}, name));
    }
    return arguments;
}

/// The studies that a program has run.
class ProgramStudies {
public:
    /// Notes the study of a call, and returns true if it is another one. Throws Error if --study would make one of it and an earlier one.
    [[nodiscard]] bool add(const StudyArguments& arguments, const OptimizeCall& call) {
        const bool is_known = !call.store.empty() && std::ranges::find(names_, call.study) != names_.end();
        if (is_known) return false;
        const auto given = arguments.words.find("study");
        if (given != arguments.words.end() && !names_.empty())
            throw bad_value("--study " + given->second, "a program that runs another study" + (call.study.empty() ? "" : ", " + call.study),
                            "one study, because each would go on with the trials of the other; leave --study out");
        names_.push_back(call.study);
        return true;
    }
    /// The study that was noted last has got this name.
    void name_latest(const std::string& name) { names_.back() = name; }
    [[nodiscard]] std::size_t count() const noexcept { return names_.size(); }

private:
    std::vector<std::string> names_;
};

/// That --store has no effect, if the program keeps the study in another file.
std::string store_note(const StudyArguments& arguments, const OptimizeCall& call) {
    const auto given = arguments.words.find("store");
    const auto is_other = [&] {
        namespace fs = std::filesystem;
        std::error_code ignored;
        return fs::weakly_canonical(store::file_of(given->second), ignored) != fs::weakly_canonical(store::file_of(call.store), ignored);
    };
    if (call.store.empty() || given == arguments.words.end() || !is_other()) return {};
    return "--store " + given->second + " has no effect on study '" + call.study +
           "', because the program keeps it in a file of its own: " + store::file_of(call.store);
}

/// That the usual store cannot be written. The program may keep its study in a file of its own, so it is run nonetheless.
void tell_unwritable_store(const Settings& settings) {
    try {
        require_writable_store(store::file_of(settings.text("store")));
    } catch (const Error& error) {
        std::cerr << "hpo-tune: note: " << tools::on_one_line(error.what())
                  << ". Without it only a study that the program keeps in a file of its own can be run\n";
    }
}

/// Throws Error for what is wrong with the options whatever the program's study will be, so that nobody waits for the program to hear it.
/// A device that the run may wait for, and a store that the program may name itself, are left to the run.
void require_options(StudyArguments arguments) {
    arguments.script = shown_program(arguments.program);
    arguments.script_text = script_text(OptimizeCall{}, arguments.program, script_name(arguments, "study"));
    Settings settings{arguments};
    (void)settings.policies();
    for (const auto& check : value_checks(settings)) check();
    (void)settings.fixed();
    if (arguments.words.contains("store")) {
        require_writable_store(store::file_of(settings.text("store")));
        if (!is_new_file(settings.text("store"))) (void)store::Snapshot{settings.text("store")};  // throws if it is no store
    } else {
        tell_unwritable_store(settings);
    }
    const TrainerInfo info = describe_trainer(settings);
    require_known_to_trainer(settings, info);
    require_plan(settings, info);
    if (!settings.text("save-best").empty()) require_saves_models(settings.place("save-best"), info);
    const bool waits = arguments.words.erase("device-wait") > 0;
    arguments.words.erase("device-interval");
    try {
        (void)run_devices(Settings{arguments}, info, [](const std::string& /*note*/) {});
    } catch (const Error& error) {
        if (!waits || error.code() != Errc::no_device) throw;
    }
    (void)opened_log(settings);  // last, because it makes the file
}

/// What keeps the program from being started again for each attempt, if its attempts need that. Says so in words that follow "the program".
std::optional<std::string> why_not_again(ProgramFront& front, const OptimizeCall& call, const StudyArguments& arguments) {
    if (call.forks || !call.tells_reached || arguments.in_program) return std::nullopt;
    return front.why_not_again(call);
}

constexpr const char* in_kernel =
    "the study is in the kernel of a notebook, which can neither be copied nor started again. So Optuna itself runs it, and no option of "
    "hpo has an effect. As a script it is run by hpo: jupyter nbconvert --to script NOTEBOOK";

/// Why hpo may not see what an interpreter of Python runs, behind "; ". Empty if its options do not keep hpo out.
std::string unseen_because(const std::vector<std::string>& program) {
    if (!std::filesystem::path{program.front()}.filename().string().starts_with("python")) return {};
    for (std::size_t i = 1; i < program.size() && program[i].starts_with('-'); ++i) {
        const std::string& word = program[i];
        if (word == "-")
            return "; " + program.front() + " - reads the program from the standard input, which is empty here: name a file instead";
        if (word.starts_with("--")) continue;
        const auto at = word.find_first_of("IEScmWX");  // what follows one of the last four is no option
        if (at == std::string::npos) continue;
        if (std::string_view{"IES"}.find(word[at]) != std::string_view::npos)
            return std::string{"; -"} + word[at] + " of " + program.front() + " keeps hpo out of the program: leave it out";
        if (word[at] == 'c' || word[at] == 'm') break;
        if (at + 1 == word.size()) ++i;
    }
    return {};
}

constexpr const char* by_ask_and_tell = " by Optuna itself (study.ask and study.tell), because only study.optimize is taken over";

/// Leaves files in which the program keeps its studies as they were, once it has ended.
void give_back_journals(const std::set<std::string>& stores) {
    for (const std::string& address : stores) {
        try {
            if (std::filesystem::exists(store::file_of(address)))
                store::Sqlite{address, {.busy_timeout = std::chrono::milliseconds{500}}}.give_back_journal();
        } catch (const Error&) {  // the file was removed or replaced, or somebody else writes to it
        }
    }
}

}  // namespace

int run_program(const StudyArguments& arguments, const RunOptions& options) {
    require_options(arguments);
    watch_interrupts();
    ProgramFront front{arguments.program, {.in_program = arguments.in_program}};
    // The program hears of a study that was refused, and ends as it does for any error.
    const auto say = [](const Error& error) { std::cerr << "hpo-tune: error: " << tools::on_one_line(error.what()) << "\n"; };
    ProgramStudies studies;
    std::set<std::string> own_stores;
    std::string next_line;
    bool keeps_study = false;  // the program itself, in a storage of its own
    while (auto call = front.next_call()) {
        std::optional<StudyRun> study;
        bool is_another = false;
        try {
            if (const auto why = why_not_again(front, *call, arguments)) {
                front.leave_to_optuna("the program " + *why + ". Each attempt would have to start it again, because " + call->why_not);
                continue;
            }
            is_another = studies.add(arguments, *call);
            if (is_another) keeps_study = !call->store.empty() || !call->copy_of.empty();
            if (is_another && !call->store.empty()) own_stores.insert(call->store);
            call->store_note = store_note(arguments, *call);
            if (arguments.in_program) call->state_note.clear();  // the program sees what its objective changes
            study.emplace(arguments_of(arguments, *call), options, &front, *call);
        } catch (const Error& error) {
            say(error);
            front.refuse(error.what());
            continue;
        }
        try {
            (void)study->run();
        } catch (const Error& error) {  // it has told the program
            say(error);
        }
        if (is_another) studies.name_latest(study->study_name());
        next_line = study->next_line();
    }
    const int status = front.wait();
    give_back_journals(own_stores);
    if (studies.count() == 1 && !next_line.empty()) {  // of several studies, each would go on from the start of the program
        std::cerr << next_line;
        if (keeps_study) std::cerr << "  it goes on if the program loads its study: create_study(..., load_if_exists=True)\n";
    }
    const ProgramFront::ByOptuna by_optuna = front.by_optuna();
    if (by_optuna.in_kernel) std::cerr << "hpo-tune: note: " << in_kernel << "\n";
    if (front.runs_latest_call() || by_optuna.optimize_calls > 0) return status;  // which the program has said
    if (by_optuna.tells > 0)
        std::cerr << "hpo-tune: note: the program ran " << tools::counted(by_optuna.tells, "trial") << by_ask_and_tell << "\n";
    else if (status == 0)
        std::cerr << "hpo-tune: note: hpo saw no call of study.optimize of Optuna, so it ran no trial" << unseen_because(arguments.program)
                  << "\n";
    return status;
}

namespace {

/// How a program's study would be run, a line for each thing that a person may want to know.
std::vector<std::string> run_in_words(const Settings& settings, const OptimizeCall& call) {
    const auto whose = [&](const char* word) {
        const std::string& policy = settings.text(word);
        return std::string{word} + ": " + (policy == program_policy ? "the program's own" : "hpo's " + policy);
    };
    std::string length = "trials: ";
    if (settings.all().at("trials").origin != "default")
        length += settings.text("trials") + " in all, as " + settings.place("trials") + " says";
    else length += call.trials ? std::to_string(*call.trials) + " more" : "until the program's study is stopped";
    if (const auto seconds = settings.time_seconds() ? settings.time_seconds() : call.seconds)
        length += ", none begins after " + tools::duration(*seconds);
    const std::string study = settings.text("study") + " in " + settings.text("store");
    std::vector<std::string> lines{"objective: " + call.objective,
                                   call.forks ? "each attempt of a trial is a copy of the program"
                                              : "each attempt runs the program anew, since it cannot fork: " + call.why_not,
                                   !call.copy_of.empty() ? "study: " + study + ", a copy of the one in the program's " + call.copy_of
                                   : call.store.empty()  ? "study: " + study + ", to which the program's own is moved"
                                                         : "study: " + study + ", which the program itself has made; no trial was added",
                                   whose("sampler"),
                                   whose("pruner"),
                                   length};
    for (const std::string& note : notes_of(call, settings)) lines.push_back("note: " + note);
    return lines;
}

}  // namespace

int check_program(const StudyArguments& arguments, bool as_json) {
    std::vector<std::string> lines, problems;
    int status = 0;
    tools::Json told{{"program", shown_program(arguments.program)}};
    try {
        require_options(arguments);
        watch_interrupts();
        ProgramFront front{arguments.program, {.output = as_json ? STDERR_FILENO : -1, .is_look = true}};
        if (auto call = front.next_call()) {
            call->store_note = store_note(arguments, *call);
            const Settings settings{arguments_of(arguments, *call)};
            (void)settings.policies();
            require_writable_store(store::file_of(settings.text("store")));
            lines = run_in_words(settings, *call);
            const auto why = why_not_again(front, *call, arguments);
            front.end_in_call();
            if (why)
                throw Error{Errc::bad_value, shown_program(arguments.program) + ": the program " + *why +
                                                 ". Each attempt would have to start it again, so Optuna itself would run its study"};
        } else {
            const int ended = front.wait();
            const ProgramFront::ByOptuna by_optuna = front.by_optuna();
            if (was_interrupted()) throw Error{Errc::interrupted, "interrupted before the program called study.optimize"};
            const std::string what = "the program ended with status " + std::to_string(ended);
            if (by_optuna.in_kernel) throw Error{Errc::bad_value, shown_program(arguments.program) + ": " + in_kernel};
            const std::string why = by_optuna.optimize_calls > 0 ? "Optuna itself would run its study, as it has said"
                                    : by_optuna.tells > 0
                                        ? "ran " + tools::counted(by_optuna.tells, "trial") + by_ask_and_tell
                                        : "hpo saw no call of study.optimize of Optuna" + unseen_because(arguments.program);
            throw Error{Errc::bad_value, shown_program(arguments.program) + ": " + what + " and " + why};
        }
    } catch (const Error& error) {
        status = exit_code(error.code() == Errc::interrupted ? error.code() : Errc::bad_value);
        problems.emplace_back(error.what());
    }
    if (as_json) {
        told.update({{"ok", problems.empty()}, {"problems", problems}, {"remarks", lines}});
        tools::print(told);
        return status;
    }
    for (const std::string& line : lines) std::cout << tools::on_one_line(line) << "\n";
    for (const std::string& problem : problems) std::cerr << "hpo-tune: error: " << tools::on_one_line(problem) << "\n";
    if (problems.empty()) std::cout << shown_program(arguments.program) << ": no problems found\n";
    return status;
}

bool names_objective(const std::string& script) {
    const auto colon = script.rfind(".py:");
    return colon != std::string::npos && colon > 0 && colon + 4 < script.size();
}

StudyArguments objective_study(StudyArguments arguments, const NamedObjective& objective) {
    const std::string named = arguments.script;
    const std::string file = named.substr(0, named.rfind(':'));
    const std::string name = named.substr(named.rfind(':') + 1);
    std::vector<Direction> directions;
    std::istringstream list{objective.directions + ","};
    for (std::string each; std::getline(list, each, ',');) {
        const auto direction = enum_of<Direction>(each);
        if (!direction) throw bad_value("--direction", "'" + each + "'", "minimize or maximize, for several values with commas");
        directions.push_back(*direction);
    }
    const NamedObjective standard;
    const auto say = [&](const char* option, const std::string& text, const std::string& usual) {
        if (text != usual) arguments.objective.insert(arguments.objective.end(), {option, text});
    };
    say("--direction", objective.directions, standard.directions);
    say("--metric", objective.metric, standard.metric);
    say("--python", objective.python, standard.python);
    if (!objective.arguments.empty()) arguments.objective.emplace_back("--");
    arguments.objective.insert(arguments.objective.end(), objective.arguments.begin(), objective.arguments.end());
    std::vector<std::string> words{file, name};
    words.insert(words.end(), objective.arguments.begin(), objective.arguments.end());
    const std::string study = script_name(arguments, std::filesystem::path{file}.stem().string() + ":" + name);
    if (!std::filesystem::is_regular_file(file))
        throw Error{Errc::usage, file + ": cannot be read; expected a Python file that has the objective '" + name + "'"};
    arguments.script_text = script_text(words, objective.python, study, directions, objective.metric);
    return arguments;
}

}  // namespace hpo::tune
