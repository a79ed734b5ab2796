// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hpo/allocator/snapshot/growth.hpp"
#include "hpo/allocator/snapshot/recording.hpp"
#include "hpo/allocator/snapshot/what_if.hpp"
#include "hpo/allocator/trace_report.hpp"
#include "hpo/core/failure.hpp"

namespace hpo::analyze {

/// What somebody asks of a snapshot.
struct SnapshotOptions {
    std::string file;
    std::optional<int> device;
    std::optional<std::string> device_memory;  ///< "24GiB"
    std::vector<std::string> allocator;        ///< settings of one's own, each a text as PYTORCH_CUDA_ALLOC_CONF takes it
    std::string libtorch;                      ///< "2.6"; empty: the newest that reads the recorded settings
    std::size_t top = 10;                      ///< rows of a list
    std::string frames = "own";                ///< own, all
    std::string csv;                           ///< settings, holders, steps, timeline; empty: none
    std::string svg;                           ///< a file; empty: none
    std::string colour;                        ///< of the picture: kind, line; empty: by kind if the kinds are known
};

/// Memory that blocks with one stack held at the peak.
struct StackShare {
    std::vector<std::string> frames;  ///< of Python, the innermost first
    std::size_t blocks = 0;
    std::int64_t bytes = 0;
};

/// How a recording ended that ran out of memory.
struct RefusedEnd {
    std::int64_t requested = 0;
    std::int64_t allocated = 0;
    std::int64_t reserved = 0;
    std::int64_t device_free = 0;
    std::string line;
    hpo::OomCause cause = hpo::OomCause::unknown;
    std::size_t times = 1;         ///< so many requests were refused in the recording
    std::size_t event = 0;         ///< the last of them
    bool went_on = false;          ///< the program caught it and took more memory
    bool at_peak = false;          ///< the peak of the requested bytes is with this request
    bool device_had_room = false;  ///< so a limit of the allocator refused
    [[nodiscard]] std::int64_t capacity() const { return reserved + device_free; }  ///< what the allocator could have
};

/// The blocks that only one stream of one pool may use.
struct PoolState {
    std::string name;  ///< "large", "small", "private pool (0, 1), large", with the stream if there are several
    std::int64_t reserved = 0;
    std::int64_t unused = 0;
    std::size_t segments = 0;
};

/// What a device's allocator held when the snapshot was written, if that is all that is known (Recording::is_state).
struct AllocatorState {
    std::int64_t reserved = 0;
    std::int64_t allocated = 0;       ///< by blocks that the program holds
    std::int64_t waiting = 0;         ///< given back, but another stream may still use it
    std::int64_t largest_unused = 0;  ///< one block
    std::vector<PoolState> pools;     ///< the largest first
    [[nodiscard]] std::int64_t unused() const { return reserved - allocated - waiting; }
};

/// What is known of one device of a snapshot. All memory in bytes.
struct SnapshotReport {
    std::string file;
    hpo::allocator::Recording recording;
    std::size_t earlier_blocks = 0;  ///< live when the recording begins
    std::size_t private_pools = 0;
    std::optional<AllocatorState> state;  ///< if there is one, then there is no peak, no refused request and no table

    std::int64_t allocated_peak = 0;
    std::optional<std::size_t> allocated_peak_event;  ///< nullopt: before the first event
    std::int64_t reserved_peak = 0;
    std::optional<std::size_t> reserved_peak_event;  ///< nullopt: before the first event
    std::int64_t allocated_then = 0;                 ///< at the reserved peak
    std::optional<double> peak_seconds;              ///< of the reserved peak, after the first event
    std::optional<RefusedEnd> refused;
    std::optional<std::int64_t> refused_from;  ///< the device refused when the allocator would have held so much

    hpo::allocator::TraceMoment holders;  ///< at the peak of the requested bytes, or of the state
    bool parts_known = false;
    std::vector<StackShare> stacks;  ///< the same by whole stacks; only if asked for
    std::vector<hpo::allocator::TracedStep> steps;
    std::vector<hpo::allocator::GrowingScope> growing;

    std::optional<std::int64_t> device_bytes;  ///< of the question: given, or as recorded
    std::vector<hpo::allocator::WhatIf> rows;  ///< the first with the recorded settings
    std::optional<std::size_t> worth_setting;  ///< index of a row
    std::string no_advice;                     ///< why nothing can be proposed; empty: it can

    std::vector<std::string> notes;  ///< what a reader should know of the recording and of the replay
};

/// Throws Error for a file that is no snapshot or from which nothing can be said, and for options that do not fit it.
[[nodiscard]] SnapshotReport snapshot_report(const SnapshotOptions& options);

}  // namespace hpo::analyze
