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
#include "tune/display/run_log.hpp"
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

}  // namespace

const std::vector<std::string>& words_of_run() {
    static const std::vector<std::string> words{"store",
                                                "study",
                                                "trials",
                                                "time",
                                                "device",
                                                "device-memory",
                                                "min-free",
                                                "device-wait",
                                                "device-interval",
                                                "fallback-device",
                                                "ledger",
                                                "workers",
                                                "threads",
                                                "target-share",
                                                "seed",
                                                "sampler",
                                                "pruner",
                                                "guard",
                                                "recovery",
                                                "worker-trials",
                                                "attempt-time",
                                                "silence-time",
                                                "breaker",
                                                "plugin-timeout",
                                                "progress",
                                                "save-best",
                                                "accept-changed-options",
                                                "log",
                                                "log-size",
                                                "store-wait"};
    return words;
}

void add_run(CLI::App& app, Actions& actions) {
    auto* command = app.add_subcommand("run", "Run a study, or go on with it");
    show_card_option(command);
    auto arguments = std::make_shared<StudyArguments>();
    auto options = std::make_shared<RunOptions>();
    add_study_arguments(command, arguments, words_of_run());
    command->add_flag("--json", options->json, "the result as JSON on stdout");
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
    command->footer("Ctrl-C once ends the running trials and leaves; twice leaves at once. Neither loses a finished trial.\n" +
                    std::string{exit_codes});
    actions.on(command, [command, arguments, options, supervised, supervision, &actions] {
        require_real_card_or_rehearsal(options->rehearse);
        for (const char* of_supervisor : {"--restarts", "--restart-pause"}) {
            if (command->count(of_supervisor) > 0 && !*supervised && !options->supervised.is_so())
                throw Error{Errc::usage, std::string{of_supervisor} + ": the run is not supervised; add --supervise"};
        }
        if (*supervised) return supervise(*supervision, *arguments, *options, actions.words());
        if (options->supervised.is_so()) return run_supervised(*arguments, *options);
        if (!options->rehearse) return StudyRun{*arguments, *options}.run();
        const RehearsalStore store{*arguments};
        return StudyRun{*arguments, *options}.run();
    });
}

}  // namespace hpo::tune
