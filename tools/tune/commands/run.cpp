// SPDX-License-Identifier: MIT
#include <memory>
#include <string>

#include "tune/commands/commands.hpp"
#include "tune/settings/settings.hpp"
#include "tune/study_run/rehearsal.hpp"
#include "tune/study_run/study_run.hpp"

namespace hpo::tune {

void add_run(CLI::App& app, Actions& actions) {
    auto* command = app.add_subcommand("run", "Run a study, or go on with it");
    show_card_option(command);
    auto arguments = std::make_shared<StudyArguments>();
    auto options = std::make_shared<RunOptions>();
    add_study_arguments(command, arguments,
                        {"store",
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
                         "log-size"});
    command->add_flag("--json", options->json, "the result as JSON on stdout");
    command->add_flag("--rehearse", options->rehearse,
                      "with --card: nothing is computed or kept; says what would run out of memory, and what would be shrunk");
    command->add_flag("-v,--verbose", options->verbose, "show every setting and where it came from");
    command->footer("Ctrl-C once ends the running trials and leaves; twice leaves at once. Neither loses a finished trial.\n" +
                    std::string{exit_codes});
    actions.on(command, [arguments, options] {
        require_real_card_or_rehearsal(options->rehearse);
        if (!options->rehearse) return StudyRun{*arguments, *options}.run();
        const RehearsalStore store{*arguments};
        return StudyRun{*arguments, *options}.run();
    });
}

}  // namespace hpo::tune
