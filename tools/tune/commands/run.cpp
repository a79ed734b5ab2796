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
#include "tune/display/run_log.hpp"
#include "tune/settings/settings.hpp"
#include "tune/study_run/interrupts.hpp"
#include "tune/study_run/rehearsal.hpp"
#include "tune/study_run/study_run.hpp"
#include "tune/study_run/supervisor.hpp"

namespace hpo::tune {
namespace {

/// What a person typed about the supervisor.
struct Supervision {
    bool wanted = false;
    std::string restarts = "10";
    std::string pause = "1s";
};

/// Runs the study in a child that is started again. The script is left to the child, but for the log that the command line names.
int supervise(const Supervision& asked, const StudyArguments& arguments, const RunOptions& options, const std::vector<std::string>& words) {
    if (options.rehearse) throw Error{Errc::usage, "--supervise: a rehearsal is not supervised; leave out one of the two"};
    const auto restarts = field_traits<std::int64_t>::parse(asked.restarts);
    constexpr std::int64_t most_restarts = 1'000'000;
    if (!restarts || *restarts < 0 || *restarts > most_restarts)
        throw bad_value("--restarts", "'" + asked.restarts + "'", "a whole number from 0 to 1000000");
    const std::chrono::milliseconds pause = require_timeout("--restart-pause", asked.pause);
    const auto tell = [](const std::string& text) { std::cerr << "hpo-tune: note: " << text << std::endl; };
    // The runs write their own restarts to the log. Only the end of them all is left to this process.
    const auto tell_end = [&](const std::string& text) {
        tell(text);
        const auto file = arguments.words.find("log");
        if (file == arguments.words.end()) return;
        RunLog log{tools::RotatingFile{file->second, std::numeric_limits<std::int64_t>::max(), "--log"}, {}};
        log.note(text);
    };
    Supervisor supervisor{{.words = words,
                           .restarts = {.first_pause = pause,
                                        .longest_pause = std::max(pause, RestartRule::Settings{}.longest_pause),
                                        .most_in_vain = static_cast<int>(*restarts)},
                           .tell = tell,
                           .tell_end = tell_end}};
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
    auto supervision = std::make_shared<Supervision>();
    command->add_flag(
        "--supervise", supervision->wanted,
        "start the run again if it is killed or crashes, or if its store cannot be used for a time; go on without a terminal");
    command
        ->add_option("--restarts", supervision->restarts, "with --supervise: give up after so many restarts in a row that finish no trial")
        ->type_name("N")
        ->default_str("10");
    command->add_option("--restart-pause", supervision->pause, "with --supervise: the first pause before a start; doubles up to 5min")
        ->type_name("DURATION")
        ->default_str("1s");
    command->add_option("--supervised", options->supervised.finished_file)->group("");  // only Supervisor gives these two
    command->add_option("--restarted", options->supervised.restarted)->group("");
    command->add_flag("-v,--verbose", options->verbose, "show every setting and where it came from");
    command->footer("Ctrl-C once ends the running trials and leaves; twice leaves at once. Neither loses a finished trial.\n" +
                    std::string{exit_codes});
    actions.on(command, [arguments, options, supervision, &actions] {
        require_real_card_or_rehearsal(options->rehearse);
        if (supervision->wanted) return supervise(*supervision, *arguments, *options, actions.words());
        if (options->supervised.is_so()) return run_supervised(*arguments, *options);
        if (!options->rehearse) return StudyRun{*arguments, *options}.run();
        const RehearsalStore store{*arguments};
        return StudyRun{*arguments, *options}.run();
    });
}

}  // namespace hpo::tune
