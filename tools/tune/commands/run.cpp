// SPDX-License-Identifier: MIT
#include <memory>
#include <string>

#include "tune/commands/commands.hpp"
#include "tune/settings/settings.hpp"
#include "tune/study_run/study_run.hpp"

namespace hpo::tune {

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
    actions.on(command, [arguments, options] { return StudyRun{*arguments, *options}.run(); });
}

}  // namespace hpo::tune
