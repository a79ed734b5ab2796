// SPDX-License-Identifier: MIT
#include "analyze/shown/snapshot_report.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <ranges>
#include <system_error>

#include "hpo/allocator/conf.hpp"
#include "hpo/allocator/snapshot/foreign_allocator.hpp"
#include "hpo/allocator/snapshot/source_lines.hpp"
#include "hpo/base/bytes.hpp"
#include "hpo/base/error.hpp"

namespace hpo_analyze {

using namespace hpo::allocator;
using hpo::Errc;
using hpo::Error;

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

LibTorchVersion version_of(const SnapshotOptions& options, const std::string& conf) {
    if (!options.libtorch.empty()) {
        const auto version = parse_libtorch_version(options.libtorch);
        std::vector<std::string> known;
        for (const LibTorchVersion& each : modelled_libtorch_versions) {
            if (version == each) return each;
            known.push_back(to_text(each));
        }
        throw hpo::bad_value("--libtorch", "'" + options.libtorch + "'", "one of " + hpo::join_names(known));
    }
    for (const LibTorchVersion& each : modelled_libtorch_versions | std::views::reverse) {
        try {
            static_cast<void>(read_allocator_conf(conf, each));
            return each;
        } catch (const Error&) {  // an older version may know an option that was dropped
        }
    }
    return {};
}

/// The device that was asked for; otherwise the one that ran out of memory, or the one that took most.
int chosen_device(const Snapshot& snapshot, const SnapshotOptions& options, const std::vector<int>& devices) {
    if (options.device) {
        if (std::ranges::find(devices, *options.device) != devices.end()) return *options.device;
        std::vector<std::string> known;
        for (const int each : devices) known.push_back(std::to_string(each));
        throw hpo::bad_value("--device", std::to_string(*options.device), "a device with a history: " + hpo::join_names(known));
    }
    std::map<int, std::int64_t> weight;
    for (const Segment& each : snapshot.segments) weight[each.device] += each.bytes;
    for (const int each : devices) {
        for (const Event& event : snapshot.history[static_cast<std::size_t>(each)]) {
            if (event.action == Event::Action::out_of_memory) weight[each] = unlimited_bytes;
        }
    }
    return *std::ranges::max_element(devices, {}, [&](int each) { return weight[each]; });
}

std::vector<int> devices_with_history(const Snapshot& snapshot, const std::string& file) {
    if (snapshot.devices().empty())
        throw Error{Errc::bad_value, file + ": no CUDA device in it: the program had used none when the snapshot was written"};
    if (is_from_npu(snapshot)) {
        throw Error{Errc::bad_value, file +
                                         ": from a copy of PyTorch's allocator that pads each request by 32 bytes, as the one for Ascend "
                                         "NPUs does; only the allocator for CUDA is modelled"};
    }
    std::vector<int> devices;
    for (std::size_t i = 0; i < snapshot.history.size(); ++i) {
        if (!snapshot.history[i].empty()) devices.push_back(static_cast<int>(i));
    }
    if (devices.empty()) {
        throw Error{Errc::bad_value,
                    file +
                        ": a snapshot without history: call torch.cuda.memory._record_memory_history() before the step, and "
                        "_dump_snapshot() after it"};
    }
    return devices;
}

void find_peaks(SnapshotReport& report, const Snapshot& snapshot, const AllocatorSettings& settings) {
    const std::vector<Event>& events = snapshot.history[static_cast<std::size_t>(report.device)];
    report.events = events.size();
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
    std::size_t refused = 0;
    for (std::size_t i = 0; i < report.history.requests.size(); ++i) {
        const Request& request = report.history.requests[i];
        if (request.kind != Request::Kind::refused) continue;
        const RecordedBlock& block = report.history.blocks[request.block];
        RefusedEnd end{.requested = block.requested_bytes,
                       .allocated = report.replay.held[i].allocated,
                       .reserved = report.replay.held[i].reserved,
                       .device_free = events[request.event].device_free,
                       .line = SourceLines{snapshot}.holder(block),
                       .cause = {},
                       .times = ++refused};
        end.cause = end.allocated + end.requested > end.capacity() ? hpo::OomCause::capacity : hpo::OomCause::fragmentation;
        report.refused = end;
    }
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
    } else if (report.refused) {
        report.device_bytes = report.refused->capacity();
    }
    std::vector<std::string> confs{report.settings_text};
    const auto add = [&](const std::string& conf) {
        if (std::ranges::find(confs, conf) == confs.end()) confs.push_back(conf);
    };
    for (const std::string& each : options.allocator) add(each);
    for (const std::string& each : usual_what_ifs(report.version)) add(each);
    for (std::size_t i = 0; i < confs.size(); ++i) {
        work.say("replaying under settings " + std::to_string(i + 1) + " of " + std::to_string(confs.size()));
        report.rows.push_back(what_if(report.trace, confs[i], {report.version, report.device_bytes}));
    }
    report.worth_setting = worth_setting(report.rows);
}

}  // namespace

SnapshotReport snapshot_report(const SnapshotOptions& options) {
    std::error_code failed;
    const auto size = std::filesystem::file_size(options.file, failed);
    const WorkLine work{!failed && size > (std::uintmax_t{8} << 20U)};
    work.say("reading " + hpo::format_bytes(static_cast<std::int64_t>(failed ? 0 : size)));
    const Snapshot snapshot = read_snapshot(options.file);
    SnapshotReport report{.file = options.file, .devices = devices_with_history(snapshot, options.file)};
    report.device = chosen_device(snapshot, options, report.devices);
    report.recorded_settings = snapshot.settings;
    report.settings_text = snapshot.settings.value_or("");
    report.version = version_of(options, report.settings_text);
    report.unknown_actions = snapshot.unknown_actions;
    AllocatorSettings settings = read_allocator_conf(report.settings_text, report.version, options.file + ": allocator_settings");
    report.history = device_history(snapshot, report.device, settings);
    if (!snapshot.settings && report.history.expandable) {
        report.settings_text = "expandable_segments:True";
        settings = read_allocator_conf(report.settings_text, report.version, options.file);
        report.history = device_history(snapshot, report.device, settings);
    }
    for (const RecordedPool& each : report.history.pools) report.private_pools += each.private_pool != 0 ? 1 : 0;
    report.replay = reproduce(report.history, settings);
    find_peaks(report, snapshot, settings);
    report.trace = requested_trace(report.history, report.replay.emptied);
    describe_trace(report.trace, report.history, SourceLines{snapshot});
    report.holders = moment_after(report.trace, requested_peak(report.trace).event);
    report.parts_known = std::ranges::any_of(report.trace.phases, [](const TracedPhase& each) { return each.name == "backward"; });
    if (options.frames == "all") share_by_stack(report, snapshot);
    report.steps = traced_steps(report.trace);
    report.growing = growing_scopes(report.trace, report.steps);
    ask_what_if(report, options, work);
    return report;
}

}  // namespace hpo_analyze
