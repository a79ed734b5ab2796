// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <exception>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "analyze/commands/commands.hpp"
#include "hpo/base/error.hpp"
#include "support/options.hpp"
#include "support/terminal.hpp"

namespace {

/// One line on stderr, `hpo-analyze: error: ...`.
int refuse(const std::string& what, int status) {
    std::cout.flush();
    std::cerr << "hpo-analyze: error: " << hpo::tools::on_one_line(what) << '\n';
    return status;
}

/// A first word that is no subcommand, named with the nearest that is.
std::string explain(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
    static const std::vector<std::string> known{"summary", "trials", "trial", "best", "oom", "failures", "memory", "compare", "snapshot"};
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word == "--store" || word == "--study") {
            ++i;
            continue;
        }
        if (word.starts_with("-")) continue;
        if (std::find(known.begin(), known.end(), word) == known.end()) return hpo::unknown_name("", "command", word, known).what();
        break;
    }
    std::string which;
    for (const CLI::App* command : app.get_subcommands()) which = command->get_name() + " ";
    return std::string{error.what()} + "; see hpo-analyze " + which + "--help";
}

}  // namespace

int main(int argc, char** argv) {
    using namespace hpo::analyze;
    const hpo::tools::VisibleStreams streams;
    CLI::App app{"Explains studies from their store: ours, or an Optuna SQLite file. Never writes to it.", "hpo-analyze"};
    app.set_version_flag("--version", std::string{HPO_VERSION});
    app.require_subcommand(1);
    app.fallthrough();
    app.footer(
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
        "read.");

    Query query;
    const auto* store = app.add_option("--store", query.store, "a path or sqlite:///path")->capture_default_str();
    const auto* study =
        app.add_option("--study", query.study, "the study's name; not needed if there is only one, nor for a command that tells of all");
    app.add_flag("--json", query.json, "one JSON document instead of text");

    std::function<void()> work;
    const auto takes_logs = [&](CLI::App* command) {
        command->add_option("--log", query.logs, "the log of the program that ran the study: why trials failed (repeatable)")
            ->allow_extra_args(false);
        return command;
    };
    takes_logs(app.add_subcommand("summary", "states, best value, time and failures of a study, or of every study"))->callback([&] {
        work = [&] { query.has_logs_alone() ? log_alone(query, Overview::failures) : summary(query); };
    });

    TrialsOptions trials_options;
    auto* list = app.add_subcommand("trials", "one line for each trial");
    list->add_option("--state", trials_options.state, "only these: complete, pruned, failed, interrupted, running, waiting");
    list->add_option("--last", trials_options.limit, "only the last N; 0: all")->check(hpo::tools::at_least(0));
    list->callback([&] { work = [&] { trials(query, trials_options); }; });

    std::int64_t number = -1;
    auto* one = app.add_subcommand("trial", "all that is known of one trial");
    one->add_option("NUMBER", number, "the trial's number within its study")->required()->check(hpo::tools::at_least(0));
    takes_logs(one)->callback([&] { work = [&] { trial(query, number); }; });

    BestOptions best_options;
    auto* winner = app.add_subcommand("best", "the best feasible trial, or the Pareto front of several objectives");
    winner->add_option("--top", best_options.top, "the best N")->check(hpo::tools::at_least(1))->capture_default_str();
    takes_logs(winner)->callback([&] { work = [&] { best(query, best_options); }; });

    OomOptions oom_options;
    auto* shortage = app.add_subcommand(
        "oom", "why trials ran out of memory, where, what would have fitted, and the rule for it; of several studies, which to look at");
    shortage->add_flag("--cases", oom_options.all_cases, "every case with its evidence");
    takes_logs(shortage)->callback(
        [&] { work = [&] { query.has_logs_alone() ? log_alone(query, Overview::oom) : oom(query, oom_options); }; });

    takes_logs(
        app.add_subcommand("failures",
                           "what failed and why, and what is stored about trials without a message; of several studies, which to look at"))
        ->callback([&] { work = [&] { query.has_logs_alone() ? log_alone(query, Overview::failures) : failures(query); }; });

    MemoryOptions memory_options;
    auto* use = app.add_subcommand("memory", "what trials used of the device, and how well that was predicted");
    std::string limit;
    auto* limited = use->add_option("--limit", limit, "list trials above it: a size such as 20GiB, or a share of the device such as 90%");
    use->add_option("--top", memory_options.top, "rows of each list")->check(hpo::tools::at_least(1))->capture_default_str();
    use->callback([&] {
        if (limited->count() > 0) memory_options.limit = limit;  // an empty one, too
        work = [&] { memory(query, memory_options); };
    });

    CompareOptions compare_options;
    auto* beside = app.add_subcommand("compare", "studies of one store side by side: trials, failures, time, best value, memory");
    beside->add_option("STUDY", compare_options.studies, "names of studies (default: all of the store)");
    beside->add_option("--from", compare_options.from, "count only trials from this number on")
        ->check(CLI::Range(std::int64_t{0}, std::int64_t{1'000'000'000}))
        ->capture_default_str();
    beside->callback([&] { work = [&] { compare(query, compare_options); }; });

    SnapshotOptions snapshot_options;
    auto* recorded =
        app.add_subcommand("snapshot", "a memory snapshot that PyTorch wrote: who holds the peak, and which settings would help");
    recorded->add_option("FILE", snapshot_options.file, "what torch.cuda.memory._dump_snapshot() wrote")->required();
    recorded->add_option("--device", snapshot_options.device, "its number (default: the one that ran out of memory, or took most)")
        ->check(hpo::tools::at_least(0));
    recorded->add_option("--device-memory", snapshot_options.device_memory,
                         "would it fit? a size such as 24GiB that the allocator may take");
    recorded
        ->add_option("--allocator", snapshot_options.allocator, "settings of your own, as PYTORCH_CUDA_ALLOC_CONF takes them (repeatable)")
        ->allow_extra_args(false);
    recorded->add_option("--libtorch", snapshot_options.libtorch, "the version whose rules hold, such as 2.6 (default: the newest)");
    recorded->add_option("--top", snapshot_options.top, "rows of a list")->check(hpo::tools::at_least(1))->capture_default_str();
    recorded->add_option("--frames", snapshot_options.frames, "own: the innermost line of your code; all: whole stacks")
        ->check(CLI::IsMember({"own", "all"}))
        ->capture_default_str();
    recorded->add_option("--csv", snapshot_options.csv, "one table as CSV: settings, holders, steps or timeline")
        ->check(CLI::IsMember({"settings", "holders", "steps", "timeline"}));
    auto* drawing = recorded->add_option("--svg", snapshot_options.svg, "draw the live blocks over the events into this file");
    recorded
        ->add_option("--colour", snapshot_options.colour, "what the picture's colours show: kind or line (default: kind, if it is known)")
        ->check(CLI::IsMember({"kind", "line"}))
        ->needs(drawing);
    recorded->callback([&] {
        for (const auto* option : {store, study}) {
            if (option->count() > 0) throw CLI::ValidationError(option->get_name(), "a snapshot is a file of its own, without a study");
        }
        work = [&] { snapshot(query, snapshot_options); };
    });

    for (CLI::App* command : app.get_subcommands([&](const CLI::App* each) { return each != recorded; })) {
        command->footer(
            "Options of every command:\n"
            "  --store PATH    the store: a path or sqlite:///path [hpo.db]\n"
            "  --study NAME    the study's name; not needed if there is only one\n"
            "  --json          one JSON document instead of text\n"
            "Examples and exit status: hpo-analyze --help");
    }
    recorded->footer("With --json: one JSON document instead of text. Examples and exit status: hpo-analyze --help");

    try {
        app.parse(argc, argv);
        query.names_store = store->count() > 0;
        work();
        std::cout.flush();
        return std::cout ? 0 : refuse("standard output: cannot be written", 1);
    } catch (const CLI::ParseError& error) {
        // --help, --version. The help of a command that there is not is no answer.
        if (error.get_exit_code() == 0 && (argc < 2 || argv[1][0] == '-' || !app.get_subcommands().empty())) return app.exit(error);
        return refuse(explain(app, error, argc, argv), 2);
    } catch (const hpo::Error& error) {
        return refuse(error.what(), exit_code(error.code()));
    } catch (const std::exception& error) {
        return refuse(error.what(), 1);
    }
}
