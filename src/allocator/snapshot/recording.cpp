// SPDX-License-Identifier: MIT
#include "hpo/allocator/snapshot/recording.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "allocator/snapshot/foreign_allocator.hpp"
#include "hpo/allocator/conf.hpp"
#include "hpo/allocator/snapshot/source_lines.hpp"
#include "hpo/allocator/trace_peak.hpp"
#include "hpo/base/error.hpp"

namespace hpo::allocator {

namespace detail {

/// The newest version that reads settings. An older one may know an option that was dropped.
[[nodiscard]] std::optional<LibTorchVersion> newest_reader(const std::string& conf) {
    for (const LibTorchVersion& each : modelled_libtorch_versions | std::views::reverse) {
        try {
            static_cast<void>(read_allocator_conf(conf, each));
            return each;
        } catch (const Error&) {  // the next older one is asked
        }
    }
    return std::nullopt;
}

/// Takes the options out of a recorded text that a version does not read: a newer PyTorch may have written it.
[[nodiscard]] std::vector<std::string> take_unknown(std::string& conf, LibTorchVersion version) {
    std::vector<std::string> unknown;
    std::string known;
    for (const std::string& option : AllocatorConfReader::items(conf)) {
        try {
            static_cast<void>(read_allocator_conf(option, version));
            known += (known.empty() ? "" : ",") + option;
        } catch (const Error&) {
            unknown.push_back(option);
        }
    }
    if (!unknown.empty()) conf = known;
    return unknown;
}

[[nodiscard]] bool has_segments(const DeviceHistory& history) {
    return !history.earlier.empty() || std::ranges::any_of(history.requests, [](const Request& each) { return !each.changes.empty(); });
}

[[nodiscard]] std::string without_expandable(const std::string& conf) {
    std::string rest;
    for (const std::string& option : AllocatorConfReader::items(conf)) {
        if (!option.starts_with("expandable_segments")) rest += (rest.empty() ? "" : ",") + option;
    }
    return rest;
}

[[nodiscard]] std::vector<int> devices_to_tell(const Snapshot& snapshot, const std::string& name) {
    if (snapshot.devices().empty())
        throw Error{Errc::bad_value, name + ": no CUDA device in it: the program had used none when the snapshot was written"};
    if (is_from_npu(snapshot)) {
        throw Error{Errc::bad_value, name +
                                         ": from a copy of PyTorch's allocator that pads each request by 32 bytes, as the one for Ascend "
                                         "NPUs does; only the allocator for CUDA is modelled"};
    }
    std::vector<int> devices;
    for (std::size_t i = 0; i < snapshot.history.size(); ++i) {
        if (!snapshot.history[i].empty()) devices.push_back(static_cast<int>(i));
    }
    return devices.empty() ? snapshot.devices() : devices;
}

[[nodiscard]] int device_to_show(const Snapshot& snapshot, const std::vector<int>& devices) {
    std::map<int, std::int64_t> weight;
    for (const Segment& each : snapshot.segments) weight[each.device] += each.bytes;
    for (const int each : devices) {
        if (std::ranges::find(snapshot.events_of(each), Event::Action::out_of_memory, &Event::action) != snapshot.events_of(each).end())
            weight[each] = std::numeric_limits<std::int64_t>::max();
    }
    return *std::ranges::max_element(devices, {}, [&](int each) { return weight[each]; });
}

}  // namespace detail

Recording open_recording(const std::filesystem::path& file, const RecordingChoice& choice) {
    return recording_of(read_snapshot(file), file.string(), choice);
}

Recording recording_of(Snapshot snapshot, const std::string& name, const RecordingChoice& choice) {
    Recording recording;
    recording.devices = detail::devices_to_tell(snapshot, name);
    recording.device = choice.device.value_or(detail::device_to_show(snapshot, recording.devices));
    if (std::ranges::find(recording.devices, recording.device) == recording.devices.end()) {
        std::vector<std::string> known;
        for (const int each : recording.devices) known.push_back(std::to_string(each));
        throw bad_value("--device", std::to_string(recording.device), "a device with a history: " + join_names(known));
    }
    recording.conf = snapshot.settings.value_or("");
    if (recording.conf.find("cudaMallocAsync") != std::string::npos)
        throw Error{Errc::bad_value, name + ": recorded with backend:cudaMallocAsync; only PyTorch's own allocator is modelled"};
    // PyTorch writes its settings since 2.3.
    const LibTorchVersion newest = snapshot.settings ? LibTorchVersion{} : LibTorchVersion{2, 2};
    const LibTorchVersion version = choice.version.value_or(detail::newest_reader(recording.conf).value_or(newest));
    const LibTorchVersion rules = choice.version ? version : std::min(version, newest);
    recording.left_out = detail::take_unknown(recording.conf, rules);
    const auto lay_out = [&] {
        recording.settings = read_allocator_conf(recording.conf, rules, name + ": allocator_settings");
        recording.history = device_history(snapshot, recording.device, recording.settings);
    };
    lay_out();
    if (recording.history.expandable && !recording.history.mixed && !recording.settings.expandable_segments) {  // set while it ran
        recording.conf += std::string{recording.conf.empty() ? "" : ","} + "expandable_segments:True";
        lay_out();
    }
    if (recording.settings.expandable_segments && !recording.history.expandable && detail::has_segments(recording.history)) {
        recording.expandable_unused = true;  // PyTorch does so where the platform has no virtual memory
        recording.conf = detail::without_expandable(recording.conf);
        lay_out();
    }
    // The model counts on a device that has no end at 2^50 bytes.
    constexpr std::int64_t most_bytes = std::int64_t{1} << 46;
    recording.replay = reproduce(recording.history, recording.settings);
    recording.trace = requested_trace(recording.history, recording.replay.emptied);
    if (recording.history.earlier_reserved_bytes > most_bytes || requested_peak(recording.trace).bytes > most_bytes)
        throw Error{Errc::bad_value, name + ": damaged memory snapshot: more than 64 TiB are held at a time"};
    describe_trace(recording.trace, recording.history, SourceLines{snapshot});
    recording.snapshot = std::move(snapshot);
    return recording;
}

}  // namespace hpo::allocator
