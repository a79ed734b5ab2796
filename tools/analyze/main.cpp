// SPDX-License-Identifier: MIT
#include <string>

#include "analyze/commands/commands.hpp"
#include "support/command_line.hpp"
#include "support/terminal.hpp"

namespace {

constexpr const char* examples_and_status =
    "Examples:\n"
    "  hpo-analyze summary                                 every study of hpo.db\n"
    "  hpo-analyze oom --store runs/optuna.db --study bert why trials ran out of memory\n"
    "  hpo-analyze oom --json | jq .rule_lua               the rule that would prevent it\n"
    "  hpo-analyze failures --log train.log                what else failed, with the words of the program's own log\n"
    "  hpo-analyze oom --log slurm-12.out                  of a log alone, without hpo.db or another store\n"
    "  hpo-analyze memory --limit 90%                      predicted against measured, and trials near the edge\n"
    "  hpo-analyze trial 42 --study bert                   all that is known of one trial\n"
    "  hpo-analyze compare plain guarded                   two studies of hpo.db side by side\n"
    "  hpo-analyze snapshot memory.pickle                  what to set, from PyTorch's own recording of its memory\n"
    "Exit status: 0 done, 1 the output cannot be written, 2 wrong use or a file that is no memory snapshot, 3 the store cannot be "
    "read.";

void add_commands(hpo::tools::CommandLine& line, hpo::analyze::Query& query) {
    using namespace hpo::analyze;
    add_summary(line, query);
    add_trials(line, query);
    add_trial(line, query);
    add_best(line, query);
    add_oom(line, query);
    add_failures(line, query);
    add_memory(line, query);
    add_compare(line, query);
    for (CLI::App* command : line.app().get_subcommands([](const CLI::App*) { return true; })) {
        command->footer(
            "Options of every command:\n"
            "  --store PATH    the store: a path or sqlite:///path [hpo.db]\n"
            "  --study NAME    the study's name; not needed if there is only one\n"
            "  --json          one JSON document instead of text\n"
            "Examples and exit status: hpo-analyze --help");
    }
    add_snapshot(line, query);
}

}  // namespace

int main(int argc, char** argv) {
    const hpo::tools::VisibleStreams streams;
    hpo::tools::CommandLine line{{.name = "hpo-analyze",
                                  .summary = "Explains studies from their store: ours, or an Optuna SQLite file. Never writes to it.",
                                  .footer = examples_and_status,
                                  .failed_status = 1},
                                 {argv + 1, argv + argc}};
    CLI::App& app = line.app();
    app.fallthrough();
    hpo::analyze::Query query;
    app.add_option_function<std::string>(
           "--store",
           [&query](const std::string& store) {
               query.store = store;
               query.names_store = true;
           },
           "a path or sqlite:///path")
        ->default_str(query.store);
    app.add_option("--study", query.study, "the study's name; not needed if there is only one, nor for a command that tells of all");
    app.add_flag("--json", query.json, "one JSON document instead of text");
    add_commands(line, query);
    return line.run_and_report_errors([&line] { return line.parse_and_run(); });
}
