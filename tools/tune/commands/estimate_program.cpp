// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/base/bytes.hpp"
#include "hpo/base/error.hpp"
#include "support/json.hpp"
#include "support/screen.hpp"
#include "support/terminal.hpp"
#include "support/text.hpp"
#include "tune/commands/commands.hpp"
#include "tune/models/private_folder.hpp"
#include "tune/program/known_cards.hpp"
#include "tune/program/program_estimate.hpp"
#include "tune/program/program_run.hpp"

namespace hpo::tune {
namespace {

using tools::Json;

struct ProgramOptions {
    std::string card;
    std::string device_memory;
    std::string context = "500MiB";
    int steps = 2;
    int limit_seconds = 600;
    std::size_t top = 10;
    std::string snapshot;
    bool json = false;
};

ProgramRun wanted_run(const ProgramOptions& options, std::vector<std::string> words) {
    ProgramRun run{.words = std::move(words)};
    const KnownCard* card = &known_cards.back();
    if (!options.card.empty()) {
        const auto found = std::ranges::find(known_cards, options.card, &KnownCard::name);
        if (found == known_cards.end()) {
            std::vector<std::string> names;
            for (const KnownCard& each : known_cards) names.emplace_back(each.name);
            throw unknown_name("--card", "card", options.card, names);
        }
        card = &*found;
    }
    run.card_name = std::string{card->name};
    run.capability = card->capability;
    run.multiprocessors = card->multiprocessors;
    run.card_bytes = card_bytes(*card);
    if (!options.device_memory.empty()) {
        run.card_bytes = require_bytes("--device-memory", options.device_memory);
        if (options.card.empty()) run.card_name = "card";
    }
    run.context_bytes = require_bytes("--context", options.context);
    if (run.context_bytes >= run.card_bytes)
        throw bad_value("--device-memory", format_bytes(run.card_bytes),
                        "more than the CUDA context takes, " + options.context + " (--context)");
    run.steps = options.steps;
    run.limit = std::chrono::seconds{options.limit_seconds};
    return run;
}

std::string steps_text(int steps) { return steps == 1 ? "1 optimizer step" : std::to_string(steps) + " optimizer steps"; }

/// A size that is enough, as people type it: with two decimals, never rounded down.
std::string rounded_up(std::int64_t bytes) {
    const std::int64_t unit = bytes >= std::int64_t{1} << 30 ? std::int64_t{1} << 30 : std::int64_t{1} << 20;
    const std::int64_t hundredths = (100 * (bytes / unit)) + (100 * (bytes % unit) + unit - 1) / unit;
    return format_bytes(hundredths * unit / 100 + (hundredths * unit % 100 != 0 ? 1 : 0));
}

std::string verdict(const ProgramEstimate& estimate) {
    if (estimate.fails_line) {
        return "no: out of memory, " + format_bytes(estimate.fails_bytes) + " asked for by " + *estimate.fails_line + ", after " +
               steps_text(estimate.process().steps);
    }
    const std::string least = "needs a card of " + std::string{estimate.at_least() ? "at least " : ""} + rounded_up(estimate.least_card);
    if (const std::string why = estimate.unknown(); !why.empty()) return "not known: " + why + "; it " + least;
    return "yes; it " + least;
}

/// The smallest known card that serves every request.
std::string smallest_card(const ProgramEstimate& estimate) {
    if (estimate.fails_line) return "not known: the requests after the one that failed are not known; try a larger --card";
    if (!estimate.unknown().empty()) return "not known, for the same reason";
    for (const KnownCard& each : known_cards) {
        if (card_bytes(each) >= estimate.least_card) return std::string{each.name} + ", " + format_bytes(card_bytes(each));
    }
    return "none of those that hpo-tune knows";
}

void print_text(const ProgramEstimate& estimate, const ProgramOptions& options) {
    const tools::Page page = tools::Page::standard_output();
    std::string words;
    for (const std::string& each : estimate.run.words) words += (words.empty() ? "" : " ") + each;
    page.paragraph(words + ": on a virtual " + estimate.run.card_name + " (" + format_bytes(estimate.run.card_bytes) + "), " +
                       steps_text(estimate.process().steps) + " in " + tools::duration(estimate.end.seconds) + ", PyTorch " +
                       estimate.process().torch,
                   9);
    page.paragraph("peak     " + std::string{estimate.at_least() ? "at least " : ""} + format_bytes(estimate.reserved_peak) +
                       " reserved, " + format_bytes(estimate.allocated_peak) + " allocated, and " +
                       format_bytes(estimate.run.context_bytes) + " for the CUDA context, which --context gives",
                   9);
    page.paragraph("fits     " + verdict(estimate), 9);
    page.paragraph("smallest " + smallest_card(estimate), 9);
    for (const std::string& each : estimate.end.not_modelled) page.paragraph("note     not modelled: " + each, 9);
    page.line();
    page.heading("Who holds the peak: " + format_bytes(estimate.holders.bytes) + " requested");
    tools::Table table{{{"bytes", tools::Table::Align::right}, {"blocks", tools::Table::Align::right}, {"line"}}, tools::Table::Last::wrap};
    for (std::size_t i = 0; i < estimate.holders.scopes.size() && i < options.top; ++i) {
        const auto& each = estimate.holders.scopes[i];
        table.row({format_bytes(each.bytes), std::to_string(each.blocks), ProgramEstimate::shown_line(each.scope)});
    }
    table.print(page, 2);
    page.line();
    page.paragraph(
        "A virtual card computes nothing. So memory that depends on computed values (masks, nonzero, unique) is not predicted. Not "
        "counted: cuDNN's workspaces, NCCL, other processes.",
        0);
}

void print_json(const ProgramEstimate& estimate) {
    Json json{{"card", estimate.run.card_name},
              {"card_bytes", estimate.run.card_bytes},
              {"context_bytes", estimate.run.context_bytes},
              {"allocated_bytes", estimate.allocated_peak},
              {"reserved_bytes", estimate.reserved_peak},
              {"pytorch_max_memory_allocated", estimate.process().allocated_bytes},
              {"pytorch_max_memory_reserved", estimate.process().reserved_bytes},
              {"processes", estimate.end.processes.size()},
              {"least_device_bytes", estimate.fails_line ? Json(nullptr) : Json(estimate.least_card)},
              {"fits", estimate.fails_line           ? Json(false)
                       : !estimate.unknown().empty() ? Json(nullptr)
                                                     : Json(true)},
              {"fails_at", nullptr},
              {"steps", estimate.process().steps},
              {"ended_by", estimate.process().why},
              {"not_known_because", estimate.unknown().empty() ? Json(nullptr) : Json(estimate.unknown())},
              {"error", estimate.process().error.empty() ? Json(nullptr) : Json(estimate.process().error)},
              {"timed_out", estimate.end.timed_out},
              {"torch", estimate.process().torch},
              {"seconds", estimate.end.seconds},
              {"not_modelled", estimate.end.not_modelled},
              {"lines", Json::array()}};
    if (estimate.fails_line) json["fails_at"] = {{"line", *estimate.fails_line}, {"requested_bytes", estimate.fails_bytes}};
    for (const auto& each : estimate.holders.scopes)
        json["lines"].push_back({{"line", ProgramEstimate::shown_line(each.scope)}, {"bytes", each.bytes}, {"blocks", each.blocks}});
    tools::print(json);
}

}  // namespace

int estimate_program(std::vector<std::string> own, std::vector<std::string> program) {
    CLI::App app{"Predict the memory of a PyTorch program, on a card that is not there", "hpo-tune estimate"};
    ProgramOptions options;
    app.add_option("--card", options.card, "the card to run on (default: the largest, A100-80GB)")->type_name("NAME");
    app.add_option("--device-memory", options.device_memory, "a card of this size, such as 24GiB, as PyTorch reports it")
        ->type_name("SIZE");
    app.add_option("--context", options.context, "what the CUDA context takes of the card")->type_name("SIZE")->capture_default_str();
    app.add_option("--steps", options.steps, "optimizer steps after which the program is ended; the second has the optimizer's state")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    app.add_option("--time-limit", options.limit_seconds, "seconds after which the program is ended")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    app.add_option("--top", options.top, "lines that are shown")->check(CLI::Range(1, 1'000'000))->capture_default_str();
    app.add_option("--snapshot", options.snapshot, "keep the recording in this file, for hpo-analyze snapshot")->type_name("FILE");
    app.add_flag("--json", options.json, "as JSON");
    app.footer("  hpo-tune estimate --card RTX-4090 -- python train.py --batch-size 16\n" + std::string{exit_codes});
    std::ranges::reverse(own);  // as CLI11 takes them
    try {
        app.parse(own);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) return app.exit(error);
        throw Error{Errc::usage, "command line: " + std::string{error.what()} + "; see hpo-tune estimate --help -- PROGRAM"};
    }
    if (program.empty()) throw Error{Errc::usage, "command line: no program behind --; expected, say, -- python train.py"};

    const PrivateFolder folder;
    ProgramRun run = wanted_run(options, std::move(program));
    run.folder = folder.path();
    std::optional<tools::Screen> screen;
    if (tools::takes_escapes(STDERR_FILENO)) screen.emplace(STDERR_FILENO);
    ProgramEnd end = run_on_virtual_card(run, [&](double seconds) {
        if (screen) screen->draw({}, {"running " + run.words[0] + " on a virtual " + run.card_name + ": " + tools::duration(seconds)});
    });
    screen.reset();
    const ProgramEstimate estimate = estimate_from(run, std::move(end));
    if (!options.snapshot.empty()) {
        std::error_code failed;
        std::filesystem::copy_file(estimate.process().snapshot, options.snapshot, std::filesystem::copy_options::overwrite_existing,
                                   failed);
        if (failed) throw Error{Errc::usage, "--snapshot: " + options.snapshot + ": cannot be written: " + failed.message()};
    }
    if (options.json) print_json(estimate);
    else print_text(estimate, options);
    return 0;
}

}  // namespace hpo::tune
