// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "hpo/allocator/conf.hpp"
#include "hpo/allocator/snapshot/foreign_allocator.hpp"
#include "hpo/allocator/snapshot/recording.hpp"
#include "hpo/allocator/snapshot/source_lines.hpp"
#include "hpo/base/error.hpp"
#include "hpo/base/inline.hpp"

namespace hpo::allocator::inline snapshot {

namespace detail {

/// The newest version that reads settings. An older one may know an option that was dropped.
[[nodiscard]] HPO_INLINE LibTorchVersion newest_reader(const std::string& conf) {
    for (const LibTorchVersion& each : modelled_libtorch_versions | std::views::reverse) {
        try {
            static_cast<void>(read_allocator_conf(conf, each));
            return each;
        } catch (const Error&) {  // the next older one is asked
        }
    }
    return {};
}

[[nodiscard]] HPO_INLINE std::vector<int> devices_with_history(const Snapshot& snapshot, const std::string& file) {
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

[[nodiscard]] HPO_INLINE int device_to_show(const Snapshot& snapshot, const std::vector<int>& devices) {
    std::map<int, std::int64_t> weight;
    for (const Segment& each : snapshot.segments) weight[each.device] += each.bytes;
    for (const int each : devices) {
        const std::vector<Event>& events = snapshot.history[static_cast<std::size_t>(each)];
        if (std::ranges::find(events, Event::Action::out_of_memory, &Event::action) != events.end())
            weight[each] = std::numeric_limits<std::int64_t>::max();
    }
    return *std::ranges::max_element(devices, {}, [&](int each) { return weight[each]; });
}

}  // namespace detail

HPO_INLINE Recording open_recording(const std::filesystem::path& file, const RecordingChoice& choice) {
    Recording recording{.snapshot = read_snapshot(file), .devices = {}, .conf = {}, .settings = {}, .history = {}, .replay = {}};
    const Snapshot& snapshot = recording.snapshot;
    recording.devices = detail::devices_with_history(snapshot, file.string());
    recording.device = choice.device.value_or(detail::device_to_show(snapshot, recording.devices));
    if (std::ranges::find(recording.devices, recording.device) == recording.devices.end()) {
        std::vector<std::string> known;
        for (const int each : recording.devices) known.push_back(std::to_string(each));
        throw bad_value("--device", std::to_string(recording.device), "a device with a history: " + join_names(known));
    }
    recording.conf = snapshot.settings.value_or("");
    const LibTorchVersion version = choice.version.value_or(detail::newest_reader(recording.conf));
    const auto replay = [&] {
        recording.settings = read_allocator_conf(recording.conf, version, file.string() + ": allocator_settings");
        recording.history = device_history(snapshot, recording.device, recording.settings);
    };
    replay();
    if (!snapshot.settings && recording.history.expandable) {
        recording.conf = "expandable_segments:True";
        replay();
    }
    recording.replay = reproduce(recording.history, recording.settings);
    return recording;
}

HPO_INLINE AllocationTrace recorded_trace(const Recording& recording) {
    AllocationTrace trace = requested_trace(recording.history, recording.replay.emptied);
    describe_trace(trace, recording.history, SourceLines{recording.snapshot});
    return trace;
}

}  // namespace hpo::allocator::inline snapshot
