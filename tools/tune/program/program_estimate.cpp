// SPDX-License-Identifier: MIT
#include "tune/program/program_estimate.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "hpo/allocator/capacity_need.hpp"
#include "hpo/allocator/snapshot/recording.hpp"
#include "hpo/allocator/trace_peak.hpp"
#include "hpo/base/bytes.hpp"
#include "hpo/base/error.hpp"
#include "hpo/base/signal_name.hpp"

namespace hpo::tune {

namespace {

[[noreturn]] void say_why_nothing_is_known(const ProgramEnd& end) {
    if (end.torch_without_cuda) {
        throw Error{Errc::bad_value, "the program's PyTorch, " + *end.torch_without_cuda +
                                         ", is built without CUDA; install one with CUDA 12 or 13: pip install torch==2.11.0"};
    }
    if (!end.refused.empty()) throw Error{Errc::bad_value, end.refused};
    const bool failed = !end.timed_out && end.status != 0;
    constexpr int signalled = 128;  // what a shell adds to a signal's number
    const bool killed = end.status > signalled && end.status < signalled + 65;
    const std::string ending = end.timed_out ? "it was ended by --time-limit"
                               : killed      ? "it crashed: " + signal_name(end.status - signalled) + " ended it" +
                                              (end.status == signalled + SIGKILL ? ", perhaps this machine's out-of-memory killer" : "")
                                        : "it ended with status " + std::to_string(end.status);
    const std::string text = "the program took nothing of the virtual card that was recorded: " + ending +
                             (end.last_words.empty() ? ", and printed nothing" : "; the last that it printed: " + end.last_words);
    if (failed) throw Error{Errc::program_failed, text};
    throw Error{Errc::check_failed, text};
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

/// The last request that was refused, and the line that made it.
void tell_failure(ProgramEstimate& estimate, const allocator::Recording& recording) {
    const auto& [trace, history] = std::tie(recording.trace, recording.history);
    const auto last =
        std::ranges::find(history.requests.rbegin(), history.requests.rend(), allocator::Request::Kind::refused, &allocator::Request::kind);
    if (last == history.requests.rend()) return;
    estimate.fails_bytes = history.blocks[last->block].requested_bytes;
    // In a backward pass the stack is autograd's; the exception names the line of the program that began it.
    const std::string& line = estimate.process().error_line;
    estimate.fails_line = line.empty() ? ProgramEstimate::shown_line(trace.scopes[trace.blocks[last->block].scope]) : line;
}

/// The peaks between the ends of the steps. A request belongs to the step that ends next.
std::vector<ProgramEstimate::StepPeak> step_peaks(const allocator::Recording& recording, const std::vector<std::int64_t>& ends) {
    std::vector<ProgramEstimate::StepPeak> peaks(ends.size());
    const std::span<const allocator::Event> events = recording.snapshot.events_of(recording.device);
    std::size_t step = 0;
    ProgramEstimate::StepPeak held;  // a step without a request, such as a replayed graph, holds what the one before left
    for (std::size_t i = 0; i < recording.history.requests.size(); ++i) {
        const std::int64_t time = events[recording.history.requests[i].event].time_us;
        while (step < ends.size() && time > ends[step]) {
            if (++step < ends.size()) peaks[step] = held;
        }
        held = {recording.replay.held[i].allocated, recording.replay.held[i].reserved};
        if (step == ends.size()) break;
        peaks[step].allocated = std::max(peaks[step].allocated, recording.replay.held[i].allocated);
        peaks[step].reserved = std::max(peaks[step].reserved, recording.replay.held[i].reserved);
    }
    while (++step < ends.size()) peaks[step] = held;
    return peaks;
}

}  // namespace

bool runs_on(int capability, const std::vector<std::string>& architectures) {
    return architectures.empty() || std::ranges::any_of(architectures, [&](const std::string& each) {
               const auto digits = std::ranges::find_if(each, [](unsigned char c) { return std::isdigit(c) != 0; });
               if (digits == each.end()) return false;
               int wanted = 0;
               const auto [end, error] = std::from_chars(&*digits, each.data() + each.size(), wanted);
               if (error != std::errc{}) return false;
               const std::string_view kind{end, each.data() + each.size()};
               if (kind == "a") return capability == wanted;
               const bool is_ptx = each.starts_with("compute_") && kind.empty();
               return capability >= wanted && (is_ptx || capability / 10 == wanted / 10);
           });
}

bool ProgramEstimate::at_least() const {
    return !unknown().empty() || std::ranges::any_of(end.not_modelled, [](const std::string& each) { return each != cudnn_workspace; }) ||
           std::ranges::any_of(process().sizes_from_data,
                               [](const SizeFromData& each) { return each.bound == SizeFromData::Bound::at_least; });
}

bool ProgramEstimate::at_most() const {
    return std::ranges::any_of(process().sizes_from_data, [](const SizeFromData& each) {
        return each.bound == SizeFromData::Bound::at_most || each.bound == SizeFromData::Bound::unknown;
    });
}

bool ProgramEstimate::fails_by_made_up_value() const {
    static constexpr auto of_values =
        std::to_array<std::string_view>({"AssertionError", "IndexError", "KeyError", "OverflowError", "ValueError", "ZeroDivisionError"});
    const bool is_of_values = std::ranges::any_of(of_values, [this](std::string_view type) { return process().error.starts_with(type); });
    return is_of_values && std::ranges::find(process().value_reads, process().error_line, &ValueRead::line) != process().value_reads.end();
}

std::string ProgramEstimate::failure() const {
    // What the card answers where it has no model is its own limit, and no fault of the program.
    if (process().error.find("error of the virtual card") != std::string::npos && !end.not_modelled.empty()) return "";
    if (process().why != "end" || (end.status == 0 && process().error.empty()) || fails_line || fails_by_made_up_value()) return "";
    return "the program failed" + (process().error.empty() ? ", with status " + std::to_string(end.status) : ": " + process().error) +
           (process().error_line.empty() ? "" : ", at " + process().error_line);
}

bool ProgramEstimate::lacks_kernels() const { return !runs_on(run.card.capability, process().architectures); }

std::optional<std::int64_t> ProgramEstimate::room_for_attention() const {
    std::vector<std::string> others = end.not_modelled;
    if (std::erase(others, attention_workspace) == 0 || fails_line || !unknown_with(others).empty()) return std::nullopt;
    return run.card.bytes - least_card;
}

std::string ProgramEstimate::unknown_with(const std::vector<std::string>& not_modelled) const {
    std::string lacking;  // a function that the card does not have makes most programs fail
    for (const std::string& each : not_modelled) {
        if (lacking.empty() && each != cudnn_workspace) lacking = each + " is not modelled";
    }
    if (fails_line) return "it ran out of memory at " + *fails_line;
    if (const std::string failed = failure(); !failed.empty()) return failed + (lacking.empty() ? "" : "; " + lacking);
    if (fails_by_made_up_value()) return "a made-up value ended the program, at " + process().error_line + ": " + process().error;
    if (end.shares_card()) return "several of " + std::to_string(end.processes.size()) + " processes used the same card";
    if (process().why == "limit") return "the program was ended by --time-limit";
    if (!lacking.empty()) return lacking;
    for (const SizeFromData& each : process().sizes_from_data) {
        if (each.bound == SizeFromData::Bound::at_least) return "it depends on data at " + each.line;
        if (each.bound == SizeFromData::Bound::unknown) return "it depends on made-up values at " + each.line;
    }
    if (const auto used = static_cast<int>(end.processes.size()); used < process().ranks)
        return "only " + std::to_string(used) + " of its " + std::to_string(process().ranks) + " ranks used a card";
    if (process().steps == 0 && caught > 0) return "it caught its out-of-memory, and made no optimizer step";
    if (process().steps == 0 && process().optimizers > 0) return "it ended without a step of its optimizer; it may have caught an error";
    return "";
}

std::string ProgramEstimate::unknown() const { return unknown_with(end.not_modelled); }

ProgramEstimate estimate_from(const ProgramRun& run, ProgramEnd end) {
    if (end.processes.empty()) say_why_nothing_is_known(end);
    if (!end.processes.front().complete) {
        throw Error{Errc::check_failed,
                    "the program took at least " + format_bytes(end.processes.front().reserved_bytes) +
                        " of the virtual card, and was ended before its recording was written: it made too many requests; "
                        "a smaller --time-limit makes fewer"};
    }
    ProgramEstimate estimate{.run = run, .end = std::move(end)};
    if (estimate.process().reserved_bytes == 0) {
        const std::string text = "the program took no memory of the virtual card: ";
        if (!estimate.failure().empty()) throw Error{Errc::program_failed, text + estimate.unknown()};
        throw Error{Errc::check_failed, text + (estimate.unknown().empty() ? "it ended" : estimate.unknown())};
    }
    estimate.recording = allocator::open_recording(estimate.process().snapshot);
    allocator::Recording& recording = estimate.recording;
    estimate.reserved_peak = recording.replay.recorded_peak;
    for (const allocator::HeldAfter& each : recording.replay.held)
        estimate.allocated_peak = std::max(estimate.allocated_peak, each.allocated);
    estimate.steps = step_peaks(recording, estimate.process().step_times_us);
    if (estimate.process().ran_out_of_memory()) tell_failure(estimate, recording);
    else leave_out_refused(recording.trace, recording.history);
    estimate.caught = static_cast<std::size_t>(
        std::ranges::count(recording.history.requests, allocator::Request::Kind::refused, &allocator::Request::kind) -
        (estimate.fails_line ? 1 : 0));
    estimate.holders = allocator::moment_after(recording.trace, allocator::requested_peak(recording.trace).event);
    estimate.beside_bytes = std::max<std::int64_t>(0, estimate.process().card_peak_bytes - estimate.reserved_peak);
    estimate.least_card =
        allocator::capacity_need(recording.trace, recording.settings, run.card.context_bytes + estimate.beside_bytes).need;
    return estimate;
}

}  // namespace hpo::tune
