// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/allocator/allocation_trace.hpp"
#include "hpo/allocator/snapshot/device_history.hpp"
#include "hpo/allocator/snapshot/snapshot.hpp"
#include "hpo/allocator/trace_peak.hpp"

namespace hpo::allocator {

/// What the stacks of a snapshot say: the user's own line, and the part of a training step.
class SourceLines {
public:
    enum class Part : std::uint8_t { build, forward, backward, step };

    explicit SourceLines(const Snapshot& snapshot);

    /// The innermost line of Python outside PyTorch, site-packages and Python's own library, as an index into Snapshot::frames.
    [[nodiscard]] std::optional<std::uint32_t> own(std::uint32_t stack) const { return own_[stack]; }
    /// backward: autograd stands in the stack. step: a file of torch/optim does. build: a module is made or moved to the device. forward:
    /// none of them.
    [[nodiscard]] Part part(std::uint32_t stack) const { return parts_[stack]; }
    /// The same of a block that was taken in the recording. It is of a step, too, if an annotation "Optimizer.step" ran then.
    [[nodiscard]] Part part(const DeviceHistory& history, const RecordedBlock& block) const;
    /// When a block was taken, in microseconds. Not of a block from before the recording.
    [[nodiscard]] std::int64_t time_of(const DeviceHistory& history, const RecordedBlock& block) const;
    /// "src/train.py:120 forward", with the last two parts of the path.
    [[nodiscard]] std::string text(std::uint32_t frame) const;
    /// The own line of a block; in a snapshot of write_snapshot() its scope; or why there is none: "(autograd, no line of Python)", "(no
    /// line of your own code)", "(no stack recorded)",
    /// "(from before the recording)".
    [[nodiscard]] std::string holder(const RecordedBlock& block) const;

    /// The times of a device's optimizer steps, from and to, in order, as annotations say them. Without such annotations those of the
    /// profiler's steps.
    [[nodiscard]] std::vector<std::pair<std::int64_t, std::int64_t>> annotated_steps(int device) const;

private:
    const Snapshot& snapshot_;
    std::vector<std::optional<std::uint32_t>> own_;                                   ///< by stack
    std::vector<Part> parts_;                                                         ///< by stack
    using Times = std::map<int, std::vector<std::pair<std::int64_t, std::int64_t>>>;  ///< of each device, from and to, in order
    Times steps_;
    Times profiled_;
};

/// What the parts of a recorded trace are called. Of what was there before, nobody knows what it was for.
inline constexpr TracePartNames recorded_part_names{"parameters or from before", "gradients", "optimizer state", "activations",
                                                    "temporaries"};

/// Gives each block of a trace from requested_trace() the scope of its line, and the trace its phases: "build" for what was there before,
/// then "forward", "backward" and "step" as the stacks and annotations say. Without stacks there are no phases.
void describe_trace(AllocationTrace& trace, const DeviceHistory& history, const SourceLines& lines);

}  // namespace hpo::allocator
