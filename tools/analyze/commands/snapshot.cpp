// SPDX-License-Identifier: MIT
#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>

#include "analyze/commands/commands.hpp"
#include "analyze/shown/snapshot_data.hpp"
#include "analyze/shown/snapshot_report.hpp"
#include "hpo/allocator/snapshot/source_lines.hpp"
#include "hpo/allocator/trace_timeline.hpp"
#include "hpo/base/bytes.hpp"
#include "hpo/base/error.hpp"
#include "hpo/base/new_file.hpp"
#include "support/json.hpp"
#include "support/options.hpp"
#include "support/text.hpp"

namespace hpo::analyze {

using namespace hpo::tools;
using hpo::format_bytes;

namespace {

using hpo::allocator::WhatIf;

std::string settings_word(const std::string& conf) { return conf.empty() ? "the usual settings" : conf; }

std::string of_all(std::size_t part, std::size_t all) { return std::to_string(part) + " of " + std::to_string(all); }

/// Two different sizes, in bytes if they would look the same.
std::string sizes_apart(std::int64_t one, std::int64_t other) {
    const std::string first = format_bytes(one);
    const std::string second = format_bytes(other);
    if (first != second) return first + " instead of " + second;
    return std::to_string(one) + " instead of " + std::to_string(other) + " bytes";
}

std::string replay_text(const SnapshotReport& report) {
    const auto& replay = report.recording.replay;
    if (replay.allocations == 0 && replay.refused == 0) return "no allocation was recorded, so there is nothing to hold it against";
    std::string text = !replay.exact()                               ? "not exact: "
                       : report.recording.history.contradictions > 0 ? "exact for the events that are there: "
                                                                     : "exact: ";
    text += of_all(replay.same_address, replay.allocations) + " allocations at the recorded address, " +
            of_all(replay.same_changes, replay.segment_changes) + " segments taken or given back as recorded, reserved peak " +
            (replay.model_peak == replay.recorded_peak ? "the same" : sizes_apart(replay.model_peak, replay.recorded_peak));
    if (replay.other_changes > 0) text += ", " + counted(replay.other_changes, "other one") + " by the model alone";
    if (replay.first_difference)
        text += ", first difference at event " + std::to_string(report.recording.history.requests[*replay.first_difference].event + 1);
    if (replay.refused > 0) text += ", " + of_all(replay.same_refused, replay.refused) + " refused as recorded";
    return text;
}

std::string end_text(const SnapshotReport& report) {
    if (!report.refused) {
        const std::size_t retries = report.recording.replay.retries - report.recording.replay.unexplained;
        std::string text = "the recording ends without running out of memory";
        if (retries > 0)
            text += "; " + retries_text(static_cast<std::int64_t>(retries)) +
                    ": the device refused at first, and the cache was given back to it" +
                    (report.refused_from ? ". So the allocator could have less than " + format_bytes(*report.refused_from) : "");
        return text;
    }
    const RefusedEnd& end = *report.refused;
    std::string text = (end.went_on ? "out of memory at event " + std::to_string(end.event + 1) + ", after which the program went on: "
                                    : "out of memory: ") +
                       format_bytes(end.requested) + " asked for by " + end.line + ", with " + format_bytes(end.allocated) +
                       " allocated, " + format_bytes(end.reserved) + " reserved and " + format_bytes(end.device_free) +
                       " of the device free";
    if (end.times > 1) text += " (the last of " + counted(end.times, "refusal") + ")";
    return text;
}

std::string cause_text(const RefusedEnd& end) {
    if (end.device_had_room)
        return "unknown: the device had room for the request. A memory fraction (set_per_process_memory_fraction) may have refused it";
    const std::string sum = format_bytes(end.allocated) + " in live blocks and the request are " +
                            format_bytes(end.allocated + end.requested) + ", the allocator could have " + format_bytes(end.capacity());
    return std::string{to_text(end.cause)} + ": " + sum +
           (end.cause == hpo::OomCause::capacity ? "" : "; it would fit, but the unused memory lies in pieces");
}

/// The line to copy, and what it gains.
std::string advice_text(const SnapshotReport& report) {
    const WhatIf& recorded = report.rows.front();
    if (!report.no_advice.empty()) return "nothing is proposed: " + report.no_advice;
    if (!report.worth_setting) {
        if (recorded.fits && !*recorded.fits) {
            const auto least = std::ranges::min_element(report.rows, {}, &WhatIf::least_capacity);
            return "none of the settings below serves every request with " + format_bytes(*report.device_bytes) +
                   "; the smallest that does is " + format_bytes(least->least_capacity) + " with " + settings_word(least->conf) +
                   ": take less memory in the lines below";
        }
        if (recorded.retries && *recorded.retries > 0) {
            const bool with_fraction = std::ranges::any_of(
                report.rows, [&](const WhatIf& row) { return row.fits.value_or(false) && *row.retries < *recorded.retries; });
            return std::string{"nothing: none of the settings below retries less"} +
                   (with_fraction ? ", but those with a memory fraction, which PyTorch takes from 2.10 on" : "");
        }
        return "nothing: none of the settings below gains 2 % and 256 MiB";
    }
    const WhatIf& best = report.rows[*report.worth_setting];
    std::string text;
    if (recorded.fits && !*recorded.fits) {
        text +=
            "every recorded request is served with " + format_bytes(*report.device_bytes) +
            (*best.retries == 0 ? ", without a retry" : ", after " + retries_text(*best.retries) + ", each of which waits for the device");
    } else if (recorded.retries && *best.retries < *recorded.retries) {
        text += std::to_string(*best.retries) + " instead of " + retries_text(*recorded.retries) + ", each of which waits for the device";
    } else {
        text += format_bytes(best.capacity_without_retry) + " instead of " + format_bytes(recorded.capacity_without_retry) +
                " of the device without a retry";
    }
    return text;
}

std::string copied_line(const WhatIf& row) {
    return row.conf.empty() ? "unset PYTORCH_CUDA_ALLOC_CONF" : "export PYTORCH_CUDA_ALLOC_CONF=" + row.conf;
}

/// What is live is only known from below where the replay is not exact.
std::string at_least(const SnapshotReport& report) { return report.recording.replay.exact() ? "" : "at least "; }

std::string other_devices(const SnapshotReport& report) {
    std::string others;
    for (const int each : report.recording.devices) {
        if (each != report.recording.device) others += (others.empty() ? "" : ", ") + std::to_string(each);
    }
    return others.empty() ? "" : " (--device for " + others + ")";
}

void print_head(const Page& page, const SnapshotReport& report) {
    page.paragraph(report.file + ": device " + std::to_string(report.recording.device) + other_devices(report) + ", " +
                       counted(report.recording.replay.allocations, "allocation") + " recorded with " +
                       settings_word(report.recording.conf),
                   9);
    std::string peak = "peak     " + format_bytes(report.reserved_peak) + " reserved, with " + at_least(report) +
                       format_bytes(report.allocated_then) + " allocated then, ";
    if (report.reserved_peak_event) {
        peak += "at event " + std::to_string(*report.reserved_peak_event + 1) + " of " +
                std::to_string(report.recording.snapshot.events_of(report.recording.device).size());
        if (report.peak_seconds) peak += ", " + duration(*report.peak_seconds) + " after the first";
    } else {
        peak += "before the first event";
    }
    if (format_bytes(report.allocated_peak) != format_bytes(report.allocated_then))
        peak += "; " + (report.recording.replay.exact() ? format_bytes(report.allocated_peak) + " allocated at most"
                                                        : "at its highest at least " + format_bytes(report.allocated_peak) + " allocated");
    page.paragraph(peak, 9);
    const std::int64_t unused = report.reserved_peak - report.allocated_then;
    page.paragraph("unused   " + std::string{report.recording.replay.exact() ? "" : "at most "} + format_bytes(unused) + " of it (" +
                       percent(report.reserved_peak > 0 ? static_cast<double>(unused) / static_cast<double>(report.reserved_peak) : 0) +
                       "): cached blocks that no request fitted, and rests of blocks",
                   9);
    page.paragraph("end      " + end_text(report), 9);
    if (report.refused) page.paragraph("cause    " + cause_text(*report.refused), 9);
    // A line of its own, ready to copy, and below it what it gains.
    if (report.worth_setting) page.line("set      " + copied_line(report.rows[*report.worth_setting]));
    page.paragraph((report.worth_setting ? "         " : "set      ") + advice_text(report), 9);
    page.paragraph("replay   " + replay_text(report), 9);
}

/// The head of a snapshot that has no more than a state.
void print_state(const Page& page, const SnapshotReport& report) {
    const AllocatorState& state = *report.state;
    const std::size_t events = report.recording.snapshot.events_of(report.recording.device).size();
    page.paragraph(report.file + ": device " + std::to_string(report.recording.device) + other_devices(report) +
                       ", the state when it was written. " + (events == 0 ? "No event" : "Only " + counted(events, "event")) +
                       " of its history " + (events > 1 ? "were" : "was") + " kept, so the peak is not known",
                   9);
    page.paragraph("reserved " + format_bytes(state.reserved), 9);
    page.paragraph(
        "held     " + format_bytes(state.allocated) + " by the program" +
            (state.waiting > 0 ? ", and " + format_bytes(state.waiting) + " that it gave back, but that another stream may still use" : ""),
        9);
    page.paragraph("unused   " + format_bytes(state.unused()) + " of the reserved (" +
                       percent(state.reserved > 0 ? static_cast<double>(state.unused()) / static_cast<double>(state.reserved) : 0) +
                       "): cached blocks and rests of blocks; the largest has " + format_bytes(state.largest_unused),
                   9);
    std::string pools;
    for (const PoolState& each : state.pools)
        pools += (pools.empty() ? "" : "; ") + each.name + ": " + format_bytes(each.reserved) + " in " + counted(each.segments, "segment") +
                 ", " + format_bytes(each.unused) + " unused";
    page.paragraph("pools    " + (pools.empty() ? "none" : pools), 9);
    page.paragraph(
        "more     torch.cuda.memory._record_memory_history(max_entries=1_000_000) before the step and _dump_snapshot() after it tell the "
        "peak",
        9);
}

void print_notes(const Page& page, const SnapshotReport& report) {
    for (const std::string& each : report.notes) page.paragraph("note     " + each, 9);
}

void print_holders(const Page& page, const SnapshotReport& report, const SnapshotOptions& options) {
    using Align = Table::Align;
    page.line();
    page.heading((report.state ? "Who holds it: " : "Who holds the peak: ") + format_bytes(report.holders.bytes) + " requested in " +
                 counted(report.holders.blocks, "block") +
                 (report.refused && report.refused->at_peak ? ", the refused request among them" : ""));
    if (report.parts_known) {
        std::string kinds;
        for (std::size_t part = 0; part < hpo::allocator::recorded_part_names.size(); ++part) {
            if (report.holders.parts[part] > 0)
                kinds += (kinds.empty() ? "" : ", ") + std::string{hpo::allocator::recorded_part_names[part]} + " " +
                         format_bytes(report.holders.parts[part]);
        }
        page.paragraph("  by kind, as stacks and lifetimes suggest: " + kinds, 4);
    }
    Table table{{{"bytes", Align::right}, {"share", Align::right}, {"blocks", Align::right}, {options.frames == "all" ? "stack" : "line"}},
                Table::Last::wrap};
    const auto share = [&](std::int64_t bytes) -> std::string {
        if (bytes < report.holders.bytes / 10'000) return "< 0.01 %";
        return percent(static_cast<double>(bytes) / static_cast<double>(std::max<std::int64_t>(report.holders.bytes, 1)));
    };
    if (options.frames == "all") {
        for (std::size_t i = 0; i < report.stacks.size() && i < options.top; ++i) {
            const StackShare& each = report.stacks[i];
            table.row({format_bytes(each.bytes), share(each.bytes), std::to_string(each.blocks), stack_text(each)});
        }
    } else {
        for (std::size_t i = 0; i < report.holders.scopes.size() && i < options.top; ++i) {
            const auto& each = report.holders.scopes[i];
            table.row({format_bytes(each.bytes), share(each.bytes), std::to_string(each.blocks), each.scope});
        }
    }
    table.print(page, 2);
    const std::size_t rows = options.frames == "all" ? report.stacks.size() : report.holders.scopes.size();
    if (rows > options.top) page.line("  and " + counted(rows - options.top, "other") + ": --top");
}

void print_steps(const Page& page, const SnapshotReport& report) {
    page.line();
    if (report.steps.size() < 2) {
        page.paragraph(
            std::string{report.steps.empty() ? "No optimizer step was found in the stacks" : "One step was found in the stacks"} +
                ": what grows from step to step is not known",
            2);
        return;
    }
    page.heading(counted(report.steps.size(), "step"));
    const auto [low, high] = std::ranges::minmax_element(report.steps, {}, &hpo::allocator::TracedStep::peak);
    constexpr std::size_t listed = 12;
    if (report.steps.size() <= listed) {
        std::string peaks;
        for (const auto& each : report.steps) peaks += (peaks.empty() ? "" : ", ") + format_bytes(each.peak);
        page.paragraph("  peak of each step, requested: " + peaks, 4);
    } else {
        page.paragraph("  peak of a step: " + format_bytes(low->peak) + " to " + format_bytes(high->peak) +
                           " requested, the highest in step " + std::to_string(high - report.steps.begin() + 1) + "; each: --csv steps",
                       4);
    }
    if (report.steps.size() < 4) page.line("  growth from step to step: not known with fewer than four steps");
    else if (report.growing.empty()) page.line("  nothing grows from step to step");
    for (const auto& each : report.growing)
        page.line("  grows at every step: " + format_bytes(each.bytes_per_step) + " a step in " + each.scope);
}

void print_what_ifs(const Page& page, const SnapshotReport& report) {
    using Align = Table::Align;
    page.line();
    page.heading("The same requests under other settings" +
                 (report.device_bytes ? ", with " + format_bytes(*report.device_bytes) + " for the allocator" : std::string{}));
    std::vector<Table::Column> columns{{"reserved", Align::right}, {"least", Align::right}, {"no retry", Align::right}};
    if (report.device_bytes) columns.push_back({"fits"});
    columns.push_back({"PYTORCH_CUDA_ALLOC_CONF"});
    Table table{columns, Table::Last::wrap};
    for (std::size_t i = 0; i < report.rows.size(); ++i) {
        const WhatIf& row = report.rows[i];
        std::vector<std::string> cells{format_bytes(row.reserved_peak), format_bytes(row.least_capacity),
                                       format_bytes(row.capacity_without_retry)};
        if (row.fits) cells.push_back(!*row.fits ? "no" : *row.retries == 0 ? "yes" : retries_text(*row.retries));
        cells.push_back((row.conf.empty() ? "(usual)" : row.conf) + (i == 0 ? "   the recorded settings" : ""));
        table.row(cells);
    }
    table.print(page, 2);
    page.paragraph(
        "  reserved: the peak on a device that never refuses. least: the smallest capacity that serves every recorded request, as does any "
        "up to 64 MiB more. no retry: the same "
        "without a retry, which gives the cache back and waits for the device.",
        2);
    page.paragraph(
        "  Replays of LibTorch " + to_text(report.recording.settings.version) +
            "'s rules. Blocks from before the recording are taken first. Not counted: time, memory outside the allocator (context, "
            "libraries, other processes), and what other timing between streams would change.",
        2);
}

void draw(const SnapshotReport& report, const SnapshotOptions& options) {
    namespace model = hpo::allocator;
    if (options.colour == "kind" && !report.parts_known)
        throw hpo::Error{hpo::Errc::usage,
                         "--colour kind: the stacks of " + report.file + " do not tell the kinds; --colour line does without"};
    const bool by_kind = options.colour.empty() ? report.parts_known : options.colour == "kind";
    const model::AllocationTrace& trace = report.recording.trace;
    model::TraceLayers layers = by_kind ? model::layers_by_part(trace, model::recorded_part_names)
                                        : model::layers_by_scope(trace, report.holders.event, model::TraceTimeline::most_layers);
    const std::string picture = model::timeline_svg(
        trace, std::filesystem::path{report.file}.filename().string() + ", device " + std::to_string(report.recording.device),
        std::move(layers));
    try {
        hpo::NewFile file{options.svg};
        file.write(std::as_bytes(std::span{picture}));
        file.commit();
    } catch (const hpo::Error& error) {  // a file that was asked for is no store
        throw hpo::Error{hpo::Errc::usage, "--svg: " + std::string{error.what()}};
    }
}

void snapshot(const Query& query, const SnapshotOptions& options) {
    if (query.json && !options.csv.empty()) throw hpo::Error{hpo::Errc::usage, "--json and --csv: only one of them at a time"};
    const SnapshotReport report = snapshot_report(options);
    if (!options.svg.empty() && report.state)
        throw hpo::Error{hpo::Errc::usage, "--svg: " + report.file + " has no history that could be drawn"};
    if (!options.svg.empty()) draw(report, options);
    if (query.json) return print(snapshot_json(report, options));
    if (!options.csv.empty()) return print_snapshot_csv(report, options.csv);
    const Page page = Page::standard_output();
    if (report.state) {
        print_state(page, report);
        print_notes(page, report);
        print_holders(page, report, options);
        return;
    }
    print_head(page, report);
    print_notes(page, report);
    print_holders(page, report, options);
    print_steps(page, report);
    print_what_ifs(page, report);
}

}  // namespace

void add_snapshot(tools::CommandLine& line, Query& query) {
    auto* command = line.add("snapshot", "a memory snapshot that PyTorch wrote: who holds the peak, and which settings would help");
    auto options = std::make_shared<SnapshotOptions>();
    command->add_option("FILE", options->file, "what torch.cuda.memory._dump_snapshot() wrote")->required();
    command->add_option("--device", options->device, "its number (default: the one that ran out of memory, or took most)")
        ->check(tools::at_least(0));
    command->add_option("--device-memory", options->device_memory, "would it fit? a size such as 24GiB that the allocator may take");
    command->add_option("--allocator", options->allocator, "settings of your own, as PYTORCH_CUDA_ALLOC_CONF takes them (repeatable)")
        ->allow_extra_args(false);
    command->add_option("--libtorch", options->libtorch, "the version whose rules hold, such as 2.6 (default: the newest)");
    command->add_option("--top", options->top, "rows of a list")->check(tools::at_least(1))->capture_default_str();
    command->add_option("--frames", options->frames, "own: the innermost line of your code; all: whole stacks")
        ->check(CLI::IsMember({"own", "all"}))
        ->capture_default_str();
    command->add_option("--csv", options->csv, "one table as CSV: settings, holders, steps or timeline")
        ->check(CLI::IsMember({"settings", "holders", "steps", "timeline"}));
    auto* drawing = command->add_option("--svg", options->svg, "draw the live blocks over the events into this file");
    command->add_option("--colour", options->colour, "what the picture's colours show: kind or line (default: kind, if it is known)")
        ->check(CLI::IsMember({"kind", "line"}))
        ->needs(drawing);
    command->footer("With --json: one JSON document instead of text. Examples and exit status: hpo-analyze --help");
    line.on(command, [&line, &query, options] {
        for (const char* name : {"--store", "--study"}) {
            if (line.app().count(name) > 0)
                throw Error{Errc::usage, std::string{name} + ": a snapshot is a file of its own, without a study"};
        }
        snapshot(query, *options);
        return 0;
    });
}

}  // namespace hpo::analyze
