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

#include "hpo/allocator/capacity_need.hpp"
#include "hpo/allocator/snapshot/recording.hpp"
#include "hpo/allocator/trace_peak.hpp"
#include "hpo/allocator/trace_report.hpp"
#include "hpo/base/bytes.hpp"
#include "hpo/base/error.hpp"
#include "support/json.hpp"
#include "support/screen.hpp"
#include "support/terminal.hpp"
#include "support/text.hpp"
#include "tune/commands/commands.hpp"
#include "tune/models/private_folder.hpp"
#include "tune/program/known_cards.hpp"
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

/// What is known of a program after it ran on a virtual card. Memory in bytes.
struct ProgramEstimate {
    ProgramRun run;
    ProgramEnd end;
    allocator::Recording recording;
    allocator::TraceMoment holders;  ///< at the peak
    std::int64_t allocated_peak = 0;
    std::int64_t reserved_peak = 0;
    std::int64_t least_card = 0;            ///< least memory of a card that serves every request, with the context
    std::optional<std::string> fails_line;  ///< the program ran out of memory: by which line of its own,
    std::int64_t fails_bytes = 0;           ///< and for how much

    [[nodiscard]] const RecordedProcess& process() const { return end.processes.front(); }
    /// The whole of what it takes is not known.
    [[nodiscard]] bool at_least() const { return !end.not_modelled.empty() || !unknown().empty(); }
    /// Why it is not known if the program fits; empty: it is known.
    [[nodiscard]] std::string unknown() const {
        if (end.processes.size() > 1) return std::to_string(end.processes.size()) + " processes used the card";
        if (process().why == "limit") return "the program was ended by --time-limit";
        if (process().why == "end" && (end.status != 0 || !process().error.empty())) {
            return "the program failed" +
                   (process().error.empty() ? ", with status " + std::to_string(end.status) : ": " + process().error) +
                   (process().error_line.empty() ? "" : ", at " + process().error_line);
        }
        return "";
    }
};

/// PyTorch records the stacks of Python here. What autograd's threads take has none.
std::string shown_line(const std::string& line) { return line == "(no stack recorded)" ? "(autograd, no line of Python)" : line; }

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

/// The end of what a program printed, as one line.
std::string last_words(const std::filesystem::path& output) {
    std::string text;
    // The tail is enough: nobody reads more than its last line.
    if (std::FILE* file = std::fopen(output.c_str(), "rb")) {
        std::fseek(file, 0, SEEK_END);
        const long size = std::ftell(file);
        std::fseek(file, std::max(0L, size - 2000), SEEK_SET);
        text.resize(2000);
        text.resize(std::fread(text.data(), 1, text.size(), file));
        std::fclose(file);
    }
    std::string last;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string line = text.substr(begin, end - begin);
        if (line.find_first_not_of(" \r") != std::string::npos && !line.starts_with("hpo virtual card: ")) last = line;
        begin = end + 1;
    }
    return last;
}

[[noreturn]] void say_why_nothing_is_known(const ProgramEnd& end) {
    if (end.torch_without_cuda) {
        throw Error{Errc::bad_value, "the program's PyTorch, " + *end.torch_without_cuda +
                                         ", is built without CUDA; install one with CUDA 13: pip install torch==2.11.0"};
    }
    const std::string last = last_words(end.output);
    const std::string ending = end.timed_out ? "it was ended by --time-limit" : "it ended with status " + std::to_string(end.status);
    throw Error{Errc::check_failed, "the program took nothing of the virtual card that was recorded: " + ending +
                                        (last.empty() ? ", and printed nothing" : "; the last that it printed: " + last)};
}

/// A request that was refused and caught took nothing.
void leave_out_refused(allocator::AllocationTrace& trace, const allocator::DeviceHistory& history) {
    std::vector<std::int64_t> events;
    std::vector<std::size_t> place;  // of each event, and of the end
    for (const std::int64_t each : trace.events) {
        place.push_back(events.size());
        if (!history.blocks[allocator::AllocationTrace::block_of(each)].refused()) events.push_back(each);
    }
    place.push_back(events.size());
    trace.events = std::move(events);
    for (std::size_t& each : trace.emptied) each = place[each];
    for (allocator::TracedPhase& each : trace.phases) each.first_event = place[each.first_event];
}

ProgramEstimate predict(const ProgramRun& run, ProgramEnd end) {
    if (end.processes.empty()) say_why_nothing_is_known(end);
    ProgramEstimate estimate{.run = run, .end = std::move(end)};
    if (estimate.process().reserved_bytes == 0) {
        throw Error{Errc::check_failed, "the program took no memory of the virtual card: " +
                                            (estimate.unknown().empty() ? std::string{"it ended"} : estimate.unknown())};
    }
    estimate.recording = allocator::open_recording(estimate.process().snapshot);
    allocator::AllocationTrace& trace = estimate.recording.trace;
    estimate.reserved_peak = estimate.recording.replay.recorded_peak;
    for (const allocator::HeldAfter& each : estimate.recording.replay.held)
        estimate.allocated_peak = std::max(estimate.allocated_peak, each.allocated);
    if (estimate.process().error.find("OutOfMemoryError") == std::string::npos) leave_out_refused(trace, estimate.recording.history);
    estimate.holders = allocator::moment_after(trace, allocator::requested_peak(trace).event);
    estimate.least_card = allocator::capacity_need(trace, estimate.recording.settings, run.context_bytes).need;
    for (const allocator::Request& each : estimate.recording.history.requests) {
        if (each.kind != allocator::Request::Kind::refused) continue;
        if (estimate.process().error.find("OutOfMemoryError") == std::string::npos) continue;  // it was caught
        estimate.fails_bytes = estimate.recording.history.blocks[each.block].requested_bytes;
        estimate.fails_line = shown_line(trace.scopes[trace.blocks[each.block].scope]);
        // In a backward pass the stack is autograd's; the exception names the line of the program that began it.
        if (!estimate.process().error_line.empty()) estimate.fails_line = estimate.process().error_line;
    }
    return estimate;
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
        table.row({format_bytes(each.bytes), std::to_string(each.blocks), shown_line(each.scope)});
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
        json["lines"].push_back({{"line", shown_line(each.scope)}, {"bytes", each.bytes}, {"blocks", each.blocks}});
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
    const ProgramEstimate estimate = predict(run, std::move(end));
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
