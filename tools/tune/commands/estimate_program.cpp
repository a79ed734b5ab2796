// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/base/bytes.hpp"
#include "hpo/base/error.hpp"
#include "hpo/process/temporary_folder.hpp"
#include "support/json.hpp"
#include "support/screen.hpp"
#include "support/terminal.hpp"
#include "support/text.hpp"
#include "tune/commands/commands.hpp"
#include "tune/program/per_values.hpp"
#include "tune/program/program_answer.hpp"
#include "tune/program/program_estimate.hpp"
#include "tune/program/program_report.hpp"
#include "tune/program/program_run.hpp"
#include "tune/settings/settings.hpp"

namespace hpo::tune {
namespace {

using tools::Json;
using Say = std::function<void(const std::string&)>;

struct ProgramOptions {
    std::string card;
    std::string device_memory;
    std::string context;
    int cards = 1;
    int steps = 2;
    int limit_seconds = 600;
    std::size_t top = 10;
    std::string per;
    std::string snapshot;
    std::string output;
    bool in_place = false;
    bool json = false;
};

ProgramRun wanted_run(const ProgramOptions& options, std::vector<std::string> words) {
    ProgramRun run{.words = std::move(words)};
    const bool by_size = options.card.empty() && !options.device_memory.empty();
    run.card = asked_card({.card = by_size ? options.device_memory : options.card,
                           .context = options.context,
                           .part = by_size ? "" : options.device_memory,
                           .place = by_size ? "--device-memory" : "--card",
                           .is_size = by_size});
    run.card.count = options.cards;
    if (!options.output.empty() && !std::ofstream{options.output, std::ios::app})
        throw Error{Errc::usage, "--output: " + options.output + ": cannot be written"};
    run.output = options.output;
    run.in_place = options.in_place;
    run.steps = options.steps;
    run.limit = std::chrono::seconds{options.limit_seconds};
    return run;
}

void keep_snapshot(const ProgramAnswer& answer, const std::string& file) {
    std::error_code failed;
    std::filesystem::copy_file(answer.furthest().process().snapshot, file, std::filesystem::copy_options::overwrite_existing, failed);
    if (failed) throw Error{Errc::usage, "--snapshot: " + file + ": cannot be written: " + failed.message()};
}

int ask_per(const ProgramOptions& options, const ProgramRun& run, const std::filesystem::path& folder, const Say& say) {
    const PerOption per = read_per(options.per, run.words);
    std::vector<PerValue> rows;
    for (const std::string& value : per.values) {
        ProgramRun here = run;
        here.words = with_value(run.words, per.name, value);
        here.folder = folder / std::to_string(rows.size());
        std::filesystem::create_directory(here.folder);
        const std::string which = per.name + " " + value + ": ";
        try {
            rows.push_back({value, ask_card(std::move(here), [&](const std::string& text) { say(which + text); }), ""});
        } catch (const Error& error) {
            if (error.code() != Errc::check_failed && error.code() != Errc::program_failed) throw;
            rows.push_back({value, std::nullopt, error.what()});  // the other values may be known
        }
    }
    const bool all_failed = std::ranges::none_of(rows, [](const PerValue& each) { return each.answer.has_value(); });
    const int status = all_failed ? exit_code(Errc::check_failed) : 0;
    if (!options.json) {
        print_per(tools::Page::standard_output(), run, per.name, rows);
        return status;
    }
    Json json{{"name", per.name}, {"largest_that_fits", nullptr}, {"rows", Json::array()}};
    if (const PerValue* const largest = largest_that_fits(rows)) json["largest_that_fits"] = largest->value;
    for (const PerValue& each : rows) {
        json["rows"].push_back({{"value", each.value}});
        if (each.answer) json["rows"].back().update(program_json(*each.answer));
        else json["rows"].back()["error"] = each.error;
    }
    tools::print(json);
    return status;
}

}  // namespace

int estimate_program(std::vector<std::string> own, std::vector<std::string> program) {
    CLI::App app{"Predict the memory of a PyTorch program, on a card that is not there", "hpo-tune estimate"};
    app.get_formatter()->label("OPTIONS", "OPTIONS] -- PROGRAM [ARGUMENTS");
    ProgramOptions options;
    app.add_option("--card", options.card, "the card to run on, by its name or its size (default: A100-80GB)")
        ->type_name("NAME")
        ->check(not_empty("NAME"));
    app.add_option("--device-memory", options.device_memory,
                   "a card of this size, such as 24GiB, as PyTorch reports it; with --card: so much of that card")
        ->type_name("SIZE")
        ->check(not_empty("SIZE"));
    app.add_option("--context", options.context, "what the CUDA context takes of the card (default: what others saw on it, or 600MiB)")
        ->type_name("SIZE")
        ->check(not_empty("SIZE"));
    app.add_option("--cards", options.cards, "so many equal cards")->check(CLI::Range(1, 16))->capture_default_str();
    app.add_option("--steps", options.steps, "optimizer steps after which the program is ended; the second has the optimizer's state")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    app.add_option("--time-limit", options.limit_seconds, "seconds after which the program is ended")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    app.add_option("--top", options.top, "lines that are shown")->check(CLI::Range(1, 1'000'000))->capture_default_str();
    app.add_option("--per", options.per, "run it for each value in the place of {NAME} in its arguments")
        ->type_name("NAME=V1,V2,...")
        ->check(not_empty("NAME=V1,V2,..."));
    app.add_option("--snapshot", options.snapshot, "keep the recording in this file, for hpo-analyze snapshot")
        ->type_name("FILE")
        ->check(not_empty("FILE"));
    app.add_option("--output", options.output, "append what the program prints to this file")->type_name("FILE")->check(not_empty("FILE"));
    app.add_flag("--in-place", options.in_place, "let what the program writes below the current folder stay there");
    app.add_flag("--json", options.json, "as JSON");
    app.footer(
        "  hpo-tune estimate --card RTX-4090 -- python train.py --batch-size 16\n"
        "  hpo-tune estimate --card T4 --per BATCH=8,16,32 -- python train.py --batch-size {BATCH}\n"
        "The exit code is 0 whatever the answer is; --json has it in \"fits\". It is 7 if the program failed by itself.\n" +
        std::string{exit_codes});
    std::ranges::reverse(own);  // as CLI11 takes them
    try {
        app.parse(own);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) return app.exit(error);
        throw Error{Errc::usage, "command line: " + std::string{error.what()} + "; see hpo-tune estimate --help -- PROGRAM"};
    }
    if (program.empty()) throw Error{Errc::usage, "command line: no program behind --; expected, say, -- python train.py"};
    if (program.front().empty()) throw Error{Errc::usage, "command line: an empty word behind --; expected a program, such as python"};

    if (!options.per.empty() && !options.snapshot.empty())
        throw Error{Errc::usage, "--snapshot is of one run; leave out --per, or ask for one value"};
    const TemporaryFolder folder{"hpo-tune"};
    ProgramRun run = wanted_run(options, std::move(program));
    run.folder = folder.path();
    std::optional<tools::Screen> screen;
    if (tools::takes_escapes(STDERR_FILENO)) screen.emplace(STDERR_FILENO);
    const Say say = [&](const std::string& text) {
        if (screen) screen->draw({}, {text});
    };
    if (!options.per.empty()) return ask_per(options, run, folder.path(), say);
    const ProgramAnswer answer = ask_card(std::move(run), say);
    screen.reset();
    if (!options.snapshot.empty()) keep_snapshot(answer, options.snapshot);
    if (options.json) tools::print(program_json(answer));
    else print_program(tools::Page::standard_output(), answer, options.top);
    return answer.furthest().failure().empty() ? 0 : exit_code(Errc::program_failed);
}

}  // namespace hpo::tune
