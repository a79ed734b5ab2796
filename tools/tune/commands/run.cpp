// SPDX-License-Identifier: MIT
#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/core/field.hpp"
#include "support/terminal.hpp"
#include "tune/commands/commands.hpp"
#include "tune/commands/supervision.hpp"
#include "tune/commands/usage_lines.hpp"
#include "tune/display/run_log.hpp"
#include "tune/optimize/run_program.hpp"
#include "tune/settings/settings.hpp"
#include "tune/study_run/interrupts.hpp"
#include "tune/study_run/rehearsal.hpp"
#include "tune/study_run/study_run.hpp"
#include "tune/study_run/supervisor.hpp"

namespace hpo::tune {
namespace {

/// Runs the study in a child that is started again. The script is left to the child, but for the log that the command line names.
int supervise(const Supervision& asked, const StudyArguments& arguments, const RunOptions& options, const std::vector<std::string>& words) {
    if (options.rehearse) throw Error{Errc::usage, "--supervise: a rehearsal is not supervised; leave out one of the two"};
    const RestartRule::Settings restarts = restart_settings(asked);
    const auto tell = [](const std::string& text) { std::cerr << "hpo-tune: note: " << text << std::endl; };
    // The runs write their own restarts to the log. Only the end of them all is left to this process.
    const auto tell_end = [&](const std::string& text) {
        tell(text);
        const auto file = arguments.words.find("log");
        if (file == arguments.words.end()) return;
        RunLog log{tools::RotatingFile{file->second, std::numeric_limits<std::int64_t>::max(), "--log"}, {}};
        log.note(text);
    };
    Supervisor supervisor{{.words = words, .restarts = restarts, .tell = tell, .tell_end = tell_end}};
    return supervisor.run();
}

int run_supervised(StudyArguments arguments, const RunOptions& options) {
    arguments.supervise = true;
    if (::fcntl(options.supervised.finished_file, F_GETFD) < 0)
        throw Error{Errc::usage, "--supervised: only hpo-tune run --supervise gives this option"};
    outlive_terminal();
    try {
        return StudyRun{arguments, options}.run();
    } catch (const Error& error) {
        if (error.code() != Errc::store_unavailable) throw;
        std::cerr << "hpo-tune: error: " << tools::on_one_line(error.what()) << "\n";
        return store_unavailable_status;
    }
}

/// Throws Error for what has no effect on trials that have no process of their own.
void require_runs_in_program(const StudyArguments& arguments, bool is_program) {
    if (!is_program)
        throw Error{Errc::usage,
                    "--isolation none: it is for a program that calls study.optimize: hpo-tune run --isolation none -- python train.py"};
    for (const char* word : {"workers", "threads", "device-memory", "min-free", "target-share", "worker-trials", "attempt-time",
                             "silence-time", "guard", "recovery"}) {
        if (arguments.words.contains(word))
            throw Error{
                Errc::usage,
                "--" + std::string{word} +
                    ": has no effect with --isolation none, because a trial then has no process of its own; leave out one of the two"};
    }
}

}  // namespace

const std::vector<std::string>& words_of_run() {
    static const std::vector<std::string> words{
        "store",        "study",           "trials",          "time",           "device",   "device-memory", "min-free",
        "device-wait",  "device-interval", "fallback-device", "ledger",         "workers",  "threads",       "target-share",
        "seed",         "seeds",           "sampler",         "pruner",         "guard",    "recovery",      "worker-trials",
        "attempt-time", "silence-time",    "breaker",         "plugin-timeout", "progress", "save-best",     "accept-changed-options",
        "log",          "log-size",        "store-wait"};
    return words;
}

void add_run(tools::CommandLine& line) {
    auto* command = line.add("run", "Run a study, or go on with it");
    command->formatter(std::make_shared<UsageLines>(
        std::vector<std::string>{"[OPTIONS] SCRIPT", "[OPTIONS] FILE.py:NAME [-- ARGUMENTS]", "[OPTIONS] -- python train.py [ARGUMENTS]"}));
    show_card_option(command);
    line.takes_value_after_equals("--save-best", "folder");
    auto arguments = std::make_shared<StudyArguments>();
    auto options = std::make_shared<RunOptions>();
    auto objective = std::make_shared<NamedObjective>();
    add_study_arguments(command, arguments, words_of_run());
    command->get_option("SCRIPT")->required(false)->description(
        "the study script (Lua), or FILE.py:NAME: an objective of Optuna in a Python file");
    command->add_option("--direction", objective->directions,
                        "of FILE.py:NAME: minimize (default) or maximize; for several values minimize,maximize");
    command->add_option("--metric", objective->metric, "of FILE.py:NAME: what its value is called")->default_str("value");
    command->add_option("--python", objective->python, "of FILE.py:NAME: the interpreter")->default_str("python3");
    struct Part {
        const char* option;
        const char* of_trainer;
        const char* help;
    };
    for (const Part& part :
         {Part{"--batch-parameter", "batch", "the program's parameter that is its effective batch: hpo may then split it"},
          Part{"--micro-batch-parameter", "micro_batch", "the program's parameter that gets the examples of one forward pass"},
          Part{"--accumulate-parameter", "accumulate", "the program's parameter that gets the forward passes of one optimizer step"}}) {
        command
            ->add_option_function<std::string>(
                part.option,
                [arguments, option = part.option, name = std::string{part.of_trainer}](const std::string& text) {
                    arguments->program_option = option;
                    arguments->trainer_option.push_back(name + "=" + text);
                },
                part.help)
            ->type_name("NAME")
            ->check(not_empty("the name of a parameter"));
    }
    command->add_flag("--json", options->json, "the result as JSON on stdout");
    auto isolation = std::make_shared<std::string>("process");
    command
        ->add_option(
            "--isolation", *isolation,
            "of -- PROGRAM: process (default), a process for each trial; none: trials run in the program, one at a time, without a "
            "plan of memory")
        ->type_name("process|none");
    command->add_flag("--rehearse", options->rehearse,
                      "with --card: nothing is computed or kept; says what would run out of memory, and what would be shrunk");
    auto supervised = std::make_shared<bool>(false);
    auto supervision = std::make_shared<Supervision>();
    command->add_flag(
        "--supervise", *supervised,
        "start the run again if it is killed or crashes, or if its store cannot be used for a time; go on without a terminal");
    add_supervision_options(command, *supervision);
    command->add_option("--supervised", options->supervised.finished_file)->group("");  // only Supervisor gives these two
    command->add_option("--restarted", options->supervised.restarted)->group("");
    command->add_flag("-v,--verbose", options->verbose, "show every setting and where it came from");
    command->footer(
        "A program that calls study.optimize of Optuna, as it is:\n"
        "  hpo-tune run --device-memory 20GiB --workers 2 -- python train.py --epochs 3\n"
        "Ctrl-C once ends the running trials and leaves; twice leaves at once. Neither loses a finished trial.\n" +
        std::string{exit_codes});
    line.on(command, [command, arguments, options, objective, supervised, supervision, isolation, &line] {
        const std::vector<std::string>& behind = line.behind_dashes();
        const bool is_program = arguments->script.empty();
        if (is_program && behind.empty())
            throw Error{Errc::usage,
                        "command line: got neither a script nor a program; expected SCRIPT, FILE.py:NAME, or -- PROGRAM ARGUMENTS"};
        if (is_program) arguments->program = behind;
        if (arguments->script.ends_with(".py:"))
            throw Error{Errc::usage, "command line: '" + arguments->script + "' names no objective; expected FILE.py:NAME"};
        if (arguments->script.ends_with(".py"))
            throw Error{Errc::usage, "command line: " + arguments->script +
                                         ": no study script; a program goes behind --: hpo-tune run -- python " + arguments->script +
                                         "; for an objective in it: hpo-tune run " + arguments->script + ":NAME"};
        if (!is_program && names_objective(arguments->script)) {
            objective->arguments = behind;
            *arguments = objective_study(std::move(*arguments), *objective);
        } else {
            for (const char* of_objective : {"--direction", "--metric", "--python"}) {
                if (command->count(of_objective) > 0) throw Error{Errc::usage, std::string{of_objective} + ": it is for FILE.py:NAME"};
            }
            if (!is_program && !behind.empty())
                throw Error{Errc::usage,
                            "command line: words behind --; expected them for FILE.py:NAME, or for a program without a script"};
        }
        const bool asks_itself = is_program || names_objective(arguments->script);
        if (asks_itself && command->count("--plugin-timeout") > 0)
            throw Error{Errc::usage,
                        "--plugin-timeout: has no effect: it is for trainers that are plugins, and a program is none; leave it out"};
        for (const char* of_split : {"--micro-batch-parameter", "--accumulate-parameter"}) {
            if (asks_itself && command->count(of_split) > 0)
                throw Error{Errc::usage, std::string{of_split} +
                                             ": has no effect: the program asks for its parameters itself, and "
                                             "hpo.plan() tells it the micro-batch; leave it out"};
        }
        if (is_program && *supervised)
            throw Error{Errc::usage, "--supervise: a program that calls optimize is not started again; leave it out"};
        if (*isolation != "process" && *isolation != "none")
            throw Error{Errc::usage, "--isolation: got '" + *isolation + "'; expected process or none"};
        arguments->in_program = *isolation == "none";
        if (arguments->in_program) {
            require_runs_in_program(*arguments, is_program);
            arguments->words.insert({{"guard", "unlimited"}, {"recovery", "fail"}});
        }
        require_real_card_or_rehearsal(options->rehearse);
        if (is_program && options->rehearse)
            throw Error{Errc::usage, "--rehearse: the program's study would get made-up values; expected a study script, or FILE.py:NAME"};
        if (is_program) return run_program(*arguments, *options);
        for (const char* of_supervisor : {"--restarts", "--restart-pause"}) {
            if (command->count(of_supervisor) > 0 && !*supervised && !options->supervised.has_supervisor())
                throw Error{Errc::usage, std::string{of_supervisor} + ": the run is not supervised; add --supervise"};
        }
        if (*supervised) return supervise(*supervision, *arguments, *options, line.words());
        if (options->supervised.has_supervisor()) return run_supervised(*arguments, *options);
        if (!options->rehearse) return StudyRun{*arguments, *options}.run();
        const RehearsalStore store{*arguments};
        return StudyRun{*arguments, *options}.run();
    });
}

}  // namespace hpo::tune
