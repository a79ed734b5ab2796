// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "allocator/random_trace.hpp"
#include "hpo/allocator/snapshot/snapshot.hpp"
#include "hpo/core/seed.hpp"
#include "snapshot/recorder.hpp"

namespace hpo::tests {

/// A random program's recording, and what is true of it.
struct RandomRecording {
    allocator::AllocatorSettings settings;
    std::string conf;
    std::string bytes;
    std::size_t served = 0;  ///< while it was recorded
    std::size_t refused = 0;
    std::int64_t reserved_peak = 0;
};

/// Settings that a text can say.
inline std::pair<std::string, allocator::AllocatorSettings> random_conf(Rng& rng) {
    allocator::AllocatorSettings settings;
    std::string text;
    const auto add = [&](const std::string& option) { text += (text.empty() ? "" : ",") + option; };
    if (rng.below(3) == 0) {
        settings.expandable_segments = true;
        add("expandable_segments:True");
    } else if (rng.below(3) == 0) {
        const std::int64_t limit = draw(rng, 21, 60);
        settings.max_split_bytes = limit * mib;
        add("max_split_size_mb:" + std::to_string(limit));
    }
    if (rng.below(3) == 0) {
        settings.power2_divisions.fill(4);
        add("roundup_power2_divisions:4");
    }
    return {text, settings};
}

/// A program of `steps` requests on a few streams, of which those from a random one on are recorded.
inline RandomRecording random_recording(Rng& rng, std::int64_t steps, const SnapshotForm& form) {
    RandomRecording result;
    std::tie(result.conf, result.settings) = random_conf(rng);
    if (!form.settings) {  // then the usual ones are assumed
        const bool expandable = result.settings.expandable_segments;
        result.settings = {};
        result.settings.expandable_segments = expandable;
    }
    const allocator::AllocationTrace trace = random_trace(rng, steps);
    const auto capacity = rng.below(2) == 0 ? allocator::unlimited_bytes : mib * draw(rng, 40, 800);
    SnapshotRecorder recorder{result.settings, {.total_bytes = capacity}};
    const auto streams = static_cast<std::uint32_t>(draw(rng, 1, 3));
    const std::int64_t begin = rng.below(3) == 0 ? 0 : draw(rng, 0, steps - 1);
    std::vector<bool> live(trace.blocks.size());
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
        const bool recorded = static_cast<std::int64_t>(i) >= begin;
        if (static_cast<std::int64_t>(i) == begin) {
            recorder.begin();
            result.reserved_peak = recorder.reserved();
        }
        if (rng.below(40) == 0) recorder.empty_cache();
        const std::int64_t event = trace.events[i];
        const auto block = static_cast<std::size_t>(event < 0 ? -1 - event : event);
        const auto stream = static_cast<std::uint32_t>(block % streams);
        if (event < 0) {
            if (live[block]) recorder.give_back(block, stream);
            continue;
        }
        live[block] = recorder.take(block, trace.blocks[block].bytes, stream, "line_" + std::to_string(block % 7));
        if (recorded) {
            ++(live[block] ? result.served : result.refused);
            result.reserved_peak = std::max(result.reserved_peak, recorder.reserved());
        }
    }
    result.bytes = PickleWriter{form.protocol}.write(recorder.snapshot(form, result.conf));
    return result;
}

/// The forms that PyTorch has written, by version.
inline std::vector<SnapshotForm> snapshot_forms() {
    return {
        {.protocol = 4,
         .requested_sizes = false,
         .block_addresses = false,
         .block_histories = true,
         .settings = false,
         .times = false},                                    // 1.13
        {.protocol = 4, .settings = false, .times = false},  // 2.1
        {.protocol = 4},                                     // 2.3
        {.protocol = 2, .annotations = true},                // written by C++
        {.protocol = 3, .annotations = true, .frames = false},
        {.protocol = 5, .annotations = true},  // Python 3.14
    };
}

}  // namespace hpo::tests
