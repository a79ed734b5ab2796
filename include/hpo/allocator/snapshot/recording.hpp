// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hpo/allocator/allocation_trace.hpp"
#include "hpo/allocator/settings.hpp"
#include "hpo/allocator/snapshot/device_history.hpp"
#include "hpo/allocator/snapshot/reproduction.hpp"
#include "hpo/allocator/snapshot/snapshot.hpp"

namespace hpo::allocator {

/// One device of a snapshot, replayed with the settings that it was recorded with.
struct Recording {
    Snapshot snapshot;
    int device = 0;
    std::vector<int> devices;           ///< all that have a history, or if none has, those that hold memory
    std::vector<std::string> left_out;  ///< options of the recorded settings that are not known here
    bool expandable_unused = false;     ///< expandable segments were set, but the segments are usual ones; it is not in `conf`
    std::string conf;                   ///< PYTORCH_CUDA_ALLOC_CONF; guessed from the segments if it was not recorded
    AllocatorSettings settings;         ///< the same, as `settings.version` reads it
    DeviceHistory history;
    Reproduction replay;
    AllocationTrace trace;  ///< the requests, with the lines and phases of their stacks

    /// No more than the state at the end is known: no history was recorded, or of the history a single event or no allocation was kept.
    [[nodiscard]] bool is_state() const {
        return replay.refused == 0 && (replay.allocations == 0 || snapshot.events_of(device).size() <= 1);
    }
};

/// What a caller may say of a recording.
struct RecordingChoice {
    std::optional<int> device;               ///< by default the one that ran out of memory, or else the one that holds most at the end
    std::optional<LibTorchVersion> version;  ///< by default the newest that can have written the file
};

/// Replays a snapshot; `name` says in errors which. Throws Error for one from which nothing can be said: no device, another maker's
/// allocator, a device that is not there.
[[nodiscard]] Recording recording_of(Snapshot snapshot, const std::string& name, const RecordingChoice& choice = {});

/// The same of a file. Throws Error, too, if it cannot be read.
[[nodiscard]] Recording open_recording(const std::filesystem::path& file, const RecordingChoice& choice = {});

}  // namespace hpo::allocator
