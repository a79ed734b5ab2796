// SPDX-License-Identifier: MIT
#include "analyze/shown/snapshot_report.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <iostream>
#include <map>
#include <system_error>
#include <utility>

#include "hpo/allocator/conf.hpp"
#include "hpo/allocator/snapshot/recording.hpp"
#include "hpo/allocator/snapshot/source_lines.hpp"
#include "hpo/base/bytes.hpp"
#include "hpo/base/error.hpp"

namespace hpo_analyze {

using namespace hpo::allocator;

namespace {

/// A line on a terminal's stderr while something long is done.
class WorkLine {
public:
    explicit WorkLine(bool shown) : shown_{shown && isatty(STDERR_FILENO) != 0} {}
    WorkLine(const WorkLine&) = delete;
    WorkLine& operator=(const WorkLine&) = delete;
    ~WorkLine() { say(""); }
    void say(const std::string& text) const {
        if (shown_) std::cerr << "\r\x1b[K" << text << std::flush;
    }

private:
    bool shown_;
};

void find_peaks(SnapshotReport& report, const Snapshot& snapshot, const AllocatorSettings& settings) {
    const std::vector<Event>& events = snapshot.history[static_cast<std::size_t>(report.device)];
    report.events = events.size();
    report.reserved_peak = report.history.earlier_reserved_bytes;
    for (const EarlierSegment& segment : report.history.earlier) {
        for (const AllocatorBlock& part : segment.parts) {
            if (part.state == AllocatorBlock::State::taken) report.allocated_then += part.bytes;
        }
    }
    report.allocated_peak = report.allocated_then;
    for (std::size_t i = 0; i < report.replay.held.size(); ++i) {
        const HeldAfter& held = report.replay.held[i];
        const Request& request = report.history.requests[i];
        const std::size_t event = request.event;
        const bool retried =
            request.kind == Request::Kind::take && !request.unexplained && !request.changes.empty() && !request.changes[0].taken;
        if (retried && !settings.expandable_segments) {
            const std::int64_t before = i > 0 ? report.replay.held[i - 1].reserved : report.history.earlier_reserved_bytes;
            const std::int64_t wanted = before + settings.segment(settings.rounded(report.history.blocks[request.block].requested_bytes));
            report.refused_from = std::min(report.refused_from.value_or(wanted), wanted);
        }
        if (held.allocated > report.allocated_peak) {
            report.allocated_peak = held.allocated;
            report.allocated_peak_event = event;
        }
        if (held.reserved > report.reserved_peak) {
            report.reserved_peak = held.reserved;
            report.reserved_peak_event = event;
            report.allocated_then = held.allocated;
        }
    }
    if (!events.empty() && events.front().time_us > 0)
        report.peak_seconds = static_cast<double>(events[report.reserved_peak_event].time_us - events.front().time_us) / 1e6;
    std::optional<std::size_t> last;
    std::size_t times = 0;
    bool went_on = false;
    for (std::size_t i = 0; i < report.history.requests.size(); ++i) {
        const Request::Kind kind = report.history.requests[i].kind;
        if (kind == Request::Kind::refused) {
            last = i;
            ++times;
            went_on = false;
        } else if (kind == Request::Kind::take) {
            went_on = last.has_value();
        }
    }
    if (!last) return;
    const Request& request = report.history.requests[*last];
    const RecordedBlock& block = report.history.blocks[request.block];
    RefusedEnd end{.requested = block.requested_bytes,
                   .allocated = report.replay.held[*last].allocated,
                   .reserved = report.replay.held[*last].reserved,
                   .device_free = events[request.event].device_free,
                   .line = SourceLines{snapshot}.holder(block),
                   .times = times,
                   .event = request.event,
                   .went_on = went_on};
    end.device_had_room = end.device_free >= settings.segment(settings.rounded(block.requested_bytes));
    if (!end.device_had_room)
        end.cause = end.allocated + end.requested > end.capacity() ? hpo::OomCause::capacity : hpo::OomCause::fragmentation;
    report.refused = end;
}

void share_by_stack(SnapshotReport& report, const Snapshot& snapshot) {
    std::map<std::uint32_t, StackShare> shares;
    std::vector<bool> live(report.trace.blocks.size());
    for (std::size_t i = 0; i <= report.holders.event && i < report.trace.events.size(); ++i) {
        const std::int64_t each = report.trace.events[i];
        live[static_cast<std::size_t>(each >= 0 ? each : -1 - each)] = each >= 0;
    }
    const SourceLines lines{snapshot};
    for (std::size_t i = 0; i < live.size(); ++i) {
        if (!live[i]) continue;
        StackShare& share = shares[report.history.blocks[i].stack];
        ++share.blocks;
        share.bytes += report.trace.blocks[i].bytes;
    }
    for (auto& [stack, share] : shares) {
        for (const std::uint32_t frame : snapshot.stacks[stack]) {
            if (snapshot.texts[snapshot.frames[frame].file].ends_with(".py")) share.frames.push_back(lines.text(frame));
        }
        if (share.frames.empty()) share.frames.emplace_back(stack == 0 ? "(no stack recorded)" : "(no line of Python)");
        report.stacks.push_back(std::move(share));
    }
    std::ranges::sort(report.stacks, std::ranges::greater{}, &StackShare::bytes);
}

void ask_what_if(SnapshotReport& report, const SnapshotOptions& options, const WorkLine& work) {
    if (options.device_memory) {
        report.device_bytes = hpo::require_bytes("--device-memory", *options.device_memory);
        if (*report.device_bytes < 1)
            throw hpo::bad_value("--device-memory", "'" + *options.device_memory + "'", "a size above 0, such as 24GiB");
    } else if (report.refused && !report.refused->device_had_room && !report.refused->went_on) {
        report.device_bytes = report.refused->capacity();
    }
    std::vector<std::string> confs{report.settings_text};
    const auto add = [&](const std::string& conf) {
        if (std::ranges::find(confs, conf) == confs.end()) confs.push_back(conf);
    };
    for (const std::string& each : options.allocator) add(each);
    for (const std::string& each : usual_what_ifs({report.version, report.device_bytes})) add(each);

    // Settings that make the same of this trace are replayed once.
    std::vector<std::pair<AllocatorSettings, std::shared_future<WhatIf>>> replays;
    std::vector<std::size_t> replay_of;
    for (const std::string& conf : confs) {
        const AllocatorSettings settings = settings_that_matter(report.trace, read_allocator_conf(conf, report.version, "--allocator"));
        const auto known = std::ranges::find(replays, settings, [](const auto& each) { return each.first; });
        replay_of.push_back(static_cast<std::size_t>(known - replays.begin()));
        if (known != replays.end()) continue;
        replays.emplace_back(settings, std::async(std::launch::async, [&report, conf] {
                                           return what_if(report.trace, conf, {report.version, report.device_bytes});
                                       }).share());
    }
    for (std::size_t i = 0; i < confs.size(); ++i) {
        work.say("replaying under " + std::to_string(confs.size()) + " settings: " + std::to_string(i) + " done");
        report.rows.push_back(replays[replay_of[i]].second.get());
        report.rows.back().conf = confs[i];
    }
    // Retries that may not have been any are no ground for advice.
    if (report.replay.unexplained == 0 || options.device_memory) report.worth_setting = worth_setting(report.rows);
}

}  // namespace

SnapshotReport snapshot_report(const SnapshotOptions& options) {
    RecordingChoice choice{.device = options.device, .version = {}};
    if (!options.libtorch.empty()) choice.version = require_modelled_version("--libtorch", options.libtorch);
    for (const std::string& each : options.allocator)  // before anything long is done
        static_cast<void>(read_allocator_conf(each, choice.version.value_or(LibTorchVersion{}), "--allocator"));
    std::error_code failed;
    const auto size = std::filesystem::file_size(options.file, failed);
    const WorkLine work{!failed && size > (std::uintmax_t{8} << 20U)};
    work.say("reading " + hpo::format_bytes(static_cast<std::int64_t>(failed ? 0 : size)));
    Recording recording = open_recording(options.file, choice);
    const Snapshot& snapshot = recording.snapshot;
    const AllocationTrace trace = recorded_trace(recording);
    SnapshotReport report{.file = options.file,
                          .device = recording.device,
                          .devices = recording.devices,
                          .recorded_settings = snapshot.settings,
                          .settings_text = recording.conf,
                          .version = recording.settings.version,
                          .history = std::move(recording.history),
                          .replay = std::move(recording.replay),
                          .left_out = recording.left_out,
                          .unknown_actions = snapshot.unknown_actions};
    for (const RecordedPool& each : report.history.pools) report.private_pools += each.private_pool != 0 ? 1 : 0;
    find_peaks(report, snapshot, recording.settings);
    report.trace = trace;
    report.earlier_blocks = static_cast<std::size_t>(
        std::ranges::count_if(report.history.blocks, [](const RecordedBlock& each) { return each.from_before(); }));
    report.holders = moment_after(report.trace, requested_peak(report.trace).event);
    if (report.refused) {
        const std::int64_t event = report.trace.events[report.holders.event];
        const auto refused = std::ranges::find_if(report.history.requests, [&](const Request& each) {
            return each.kind == Request::Kind::refused && static_cast<std::int64_t>(each.block) == event;
        });
        report.refused->at_peak = refused != report.history.requests.end();
    }
    report.parts_known = std::ranges::any_of(report.trace.phases, [](const TracedPhase& each) { return each.name == "backward"; });
    if (options.frames == "all") share_by_stack(report, snapshot);
    report.steps = traced_steps(report.trace);
    report.growing = growing_scopes(report.trace, report.steps);
    ask_what_if(report, options, work);
    return report;
}

}  // namespace hpo_analyze
