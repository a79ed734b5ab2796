// SPDX-License-Identifier: MIT
#include "analyze/shown/snapshot_report.hpp"

#include "analyze/shown/snapshot_notes.hpp"
#include "analyze/shown/unpacked_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "hpo/allocator/conf.hpp"
#include "hpo/allocator/replay.hpp"
#include "hpo/allocator/snapshot/source_lines.hpp"
#include "hpo/base/bytes.hpp"
#include "hpo/base/error.hpp"
#include "support/screen.hpp"
#include "support/terminal.hpp"

namespace hpo::analyze {

using namespace hpo::allocator;

namespace {

/// Reads a recording that gzip may have packed.
[[nodiscard]] Recording read_recording(const std::string& file, const RecordingChoice& choice) {
    std::array<char, 2> begin{};
    std::ifstream input{file, std::ios::binary};
    if (!input.read(begin.data(), begin.size()) || std::string_view{begin.data(), begin.size()} != "\x1f\x8b")
        return open_recording(file, choice);
    constexpr std::size_t most = std::size_t{1} << 34U;
    UnpackedFile packed{file};
    std::string bytes;
    std::array<char, std::size_t{1} << 16U> part{};
    for (std::streamsize got = packed.sgetn(part.data(), part.size()); got > 0; got = packed.sgetn(part.data(), part.size())) {
        bytes.append(part.data(), static_cast<std::size_t>(got));
        if (bytes.size() > most) throw Error{Errc::bad_value, file + ": unpacked, it is more than " + format_bytes(std::int64_t{1} << 34U)};
    }
    if (const std::string wrong = packed.error(); !wrong.empty()) throw Error{Errc::bad_value, file + ": cannot be unpacked: " + wrong};
    return recording_of(decode_snapshot({std::move(bytes), file}), file, choice);
}

/// Tells on a terminal what is done while it takes long.
class WorkLine {
public:
    explicit WorkLine(bool shown) {
        if (shown && hpo::tools::takes_escapes(STDERR_FILENO)) screen_.emplace(STDERR_FILENO);
    }
    void say(const std::string& text) {
        if (screen_) screen_->draw({}, {text});
    }

private:
    std::optional<hpo::tools::Screen> screen_;
};

void find_peaks(SnapshotReport& report) {
    const auto& [history, replay, settings] = std::tie(report.recording.history, report.recording.replay, report.recording.settings);
    report.reserved_peak = history.earlier_reserved_bytes;
    report.allocated_peak = report.allocated_then = history.earlier_allocated_bytes;
    std::int64_t reserved_before = history.earlier_reserved_bytes;
    for (std::size_t i = 0; i < replay.held.size(); ++i) {
        const HeldAfter& held = replay.held[i];
        const Request& request = history.requests[i];
        const bool retried =
            request.kind == Request::Kind::take && !request.unexplained && !request.changes.empty() && !request.changes[0].taken;
        if (retried && !settings.expandable_segments) {
            const std::int64_t wanted = reserved_before + settings.segment(settings.rounded(history.blocks[request.block].requested_bytes));
            report.refused_from = std::min(report.refused_from.value_or(wanted), wanted);
        }
        if (held.allocated > report.allocated_peak) {
            report.allocated_peak = held.allocated;
            report.allocated_peak_event = request.event;
        }
        if (held.reserved > report.reserved_peak) {
            report.reserved_peak = held.reserved;
            report.reserved_peak_event = request.event;
            report.allocated_then = held.allocated;
        }
        reserved_before = held.reserved;
    }
    const std::span<const Event> events = report.recording.snapshot.events_of(report.recording.device);
    if (events.front().time_us > 0 && report.reserved_peak_event)
        report.peak_seconds = static_cast<double>(events[*report.reserved_peak_event].time_us - events.front().time_us) / 1e6;
}

/// The last request that ran out of memory.
void find_refusal(SnapshotReport& report) {
    const auto& [history, trace, settings] = std::tie(report.recording.history, report.recording.trace, report.recording.settings);
    std::optional<std::size_t> last;
    RefusedEnd end{.times = 0};
    for (std::size_t i = 0; i < history.requests.size(); ++i) {
        const Request::Kind kind = history.requests[i].kind;
        if (kind == Request::Kind::take) end.went_on = last.has_value();
        if (kind != Request::Kind::refused) continue;
        last = i;
        ++end.times;
        end.went_on = false;
    }
    if (!last) return;
    const Request& request = history.requests[*last];
    const RecordedBlock& block = history.blocks[request.block];
    end.requested = block.requested_bytes;
    end.allocated = report.recording.replay.held[*last].allocated;
    end.reserved = report.recording.replay.held[*last].reserved;
    end.device_free = report.recording.snapshot.events_of(report.recording.device)[request.event].device_free;
    end.line = trace.scopes[trace.blocks[request.block].scope];
    end.event = request.event;
    end.at_peak = history.blocks[AllocationTrace::block_of(trace.events[report.holders.event])].refused();
    end.device_had_room = end.device_free >= settings.segment(settings.rounded(block.requested_bytes));
    if (!end.device_had_room)
        end.cause = end.allocated + end.requested > end.capacity() ? hpo::OomCause::capacity : hpo::OomCause::fragmentation;
    report.refused = end;
}

std::string pool_name(const Snapshot& snapshot, const Segment& segment, bool several_streams) {
    std::string name;
    if (segment.private_pool != 0) {
        for (const std::uint64_t each : snapshot.private_pools[segment.private_pool])
            name += (name.empty() ? "" : ", ") + std::to_string(each);
        name = "private pool (" + name + "), ";
    }
    name += segment.small ? "small" : "large";
    return several_streams ? name + ", stream " + std::to_string(segment.stream) : name;
}

AllocatorState state_at_end(const Recording& recording) {
    std::vector<const Segment*> segments;
    for (const Segment& each : recording.snapshot.segments) {
        if (each.device == recording.device) segments.push_back(&each);
    }
    const bool several_streams =
        std::ranges::any_of(segments, [&](const Segment* each) { return each->stream != segments.front()->stream; });
    AllocatorState state;
    std::map<std::string, PoolState> pools;
    for (const Segment* segment : segments) {
        PoolState& pool = pools[pool_name(recording.snapshot, *segment, several_streams)];
        state.reserved += segment->bytes;
        pool.reserved += segment->bytes;
        ++pool.segments;
        for (const Block& block : segment->blocks) {
            if (block.state == Block::State::live) state.allocated += block.bytes;
            if (block.state == Block::State::waiting) state.waiting += block.bytes;
            if (block.state != Block::State::cached) continue;
            pool.unused += block.bytes;
            state.largest_unused = std::max(state.largest_unused, block.bytes);
        }
    }
    for (auto& [name, pool] : pools) {
        pool.name = name;
        state.pools.push_back(pool);
    }
    std::ranges::stable_sort(state.pools, std::ranges::greater{}, &PoolState::reserved);
    return state;
}

void share_by_stack(SnapshotReport& report) {
    const Snapshot& snapshot = report.recording.snapshot;
    const std::vector<bool> live = live_after(report.recording.trace, report.holders.event);
    std::map<std::uint32_t, StackShare> shares;
    for (std::size_t i = 0; i < live.size(); ++i) {
        if (!live[i]) continue;
        StackShare& share = shares[report.recording.history.blocks[i].stack];
        ++share.blocks;
        share.bytes += report.recording.trace.blocks[i].bytes;
    }
    const SourceLines lines{snapshot};
    for (auto& [stack, share] : shares) {
        for (const std::uint32_t frame : snapshot.stacks[stack]) {
            const std::string& file = snapshot.texts[snapshot.frames[frame].file];
            if (file.ends_with(".py") || file.starts_with('<')) share.frames.push_back(lines.text(frame));
        }
        if (share.frames.empty())
            share.frames.emplace_back(stack != 0 ? "(no line of Python)" : "(from before the recording, or no stack recorded)");
        report.stacks.push_back(std::move(share));
    }
    std::ranges::sort(report.stacks, std::ranges::greater{}, &StackShare::bytes);
}

/// A table is no ground for advice where its first row, with the recorded settings, is not what happened.
std::string why_no_advice(const SnapshotReport& report) {
    const Recording& recording = report.recording;
    const WhatIf& recorded = report.rows.front();
    if (recording.history.contradictions > 0) return "events are missing, so the requests are not known";
    if (!recording.replay.exact()) return "the replay is not what was recorded";
    if (recording.replay.allocations == 0 && !report.refused) return "no allocation was recorded";
    if (recording.settings.memory_fraction) return "the recorded memory fraction is of a total that was not recorded";
    if (report.refused && !report.refused->went_on) {
        if (report.refused->device_had_room) return "a limit of the allocator refused the request, not the device";
        const std::int64_t capacity = report.refused->capacity();
        if (simulate(recording.trace, recording.settings, {.total_bytes = capacity}).survived())
            return "the requests alone do not run out of memory at " + hpo::format_bytes(capacity) +
                   ". So what was there before the recording matters, and how it came there is not known";
    }
    if (recording.replay.unexplained > 0 && (!recorded.fits || *recorded.fits)) return "it is not known which retries there were";
    return "";
}

void ask_what_if(SnapshotReport& report, const SnapshotOptions& options, WorkLine& work) {
    if (options.device_memory) {
        report.device_bytes = hpo::require_bytes("--device-memory", *options.device_memory);
        if (*report.device_bytes < 1)
            throw hpo::bad_value("--device-memory", "'" + *options.device_memory + "'", "a size above 0, such as 24GiB");
    } else if (report.refused && !report.refused->device_had_room && !report.refused->went_on) {
        report.device_bytes = report.refused->capacity();
    }
    const Recording& recording = report.recording;
    const WhatIfQuestion question{recording.settings.version, report.device_bytes};
    std::vector<std::string> confs{recording.conf};
    const auto add = [&](const std::string& conf) {
        if (std::ranges::find(confs, conf) == confs.end()) confs.push_back(conf);
    };
    for (const std::string& each : options.allocator) add(each);
    for (const std::string& each : usual_what_ifs(question)) {
        if (!recording.expandable_unused || each.find("expandable_segments") == std::string::npos) add(each);
    }

    for (const std::string& each : confs) static_cast<void>(read_allocator_conf(each, question.version, "--allocator"));
    report.rows = what_ifs(recording.trace, confs, question, [&](std::size_t done) {
        work.say("replaying under " + std::to_string(confs.size()) + " settings: " + std::to_string(done) + " done");
    });
    report.no_advice = why_no_advice(report);
    if (report.no_advice.empty()) report.worth_setting = worth_setting(report.rows);
}

}  // namespace

SnapshotReport snapshot_report(const SnapshotOptions& options) {
    RecordingChoice choice{.device = options.device, .version = {}};
    if (!options.libtorch.empty()) choice.version = require_modelled_version("--libtorch", options.libtorch);
    for (const std::string& each : options.allocator)  // before anything long is done
        static_cast<void>(read_allocator_conf(each, choice.version.value_or(LibTorchVersion{}), "--allocator"));
    std::error_code failed;
    const auto size = std::filesystem::file_size(options.file, failed);
    WorkLine work{!failed && size > (std::uintmax_t{8} << 20U)};
    work.say("reading " + hpo::format_bytes(static_cast<std::int64_t>(failed ? 0 : size)));
    SnapshotReport report{.file = options.file, .recording = read_recording(options.file, choice)};
    const AllocationTrace& trace = report.recording.trace;
    for (const RecordedPool& each : report.recording.history.pools) report.private_pools += each.private_pool != 0 ? 1 : 0;
    report.earlier_blocks = static_cast<std::size_t>(std::ranges::count_if(report.recording.history.blocks, &RecordedBlock::from_before));
    if (report.recording.is_state()) {
        report.state = state_at_end(report.recording);
        if (!trace.events.empty()) report.holders = moment_after(trace, trace.events.size() - 1);
        for (ScopeShare& each : report.holders.scopes) {
            if (each.scope == "(from before the recording)") each.scope = "(no stack recorded)";  // all of it is from before
        }
        if (options.frames == "all") share_by_stack(report);
        report.notes = snapshot_notes(report);
        return report;
    }
    report.holders = moment_after(trace, requested_peak(trace).event);
    find_peaks(report);
    find_refusal(report);
    report.parts_known = std::ranges::any_of(trace.phases, [](const TracedPhase& each) { return each.name == "backward"; });
    if (options.frames == "all") share_by_stack(report);
    report.steps = traced_steps(trace);
    report.growing = growing_scopes(trace, report.steps);
    ask_what_if(report, options, work);
    report.notes = snapshot_notes(report);
    return report;
}

}  // namespace hpo::analyze
