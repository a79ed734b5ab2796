// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hpo::allocator {

/// A line of code: of Python, or of C++ if that was recorded.
struct Frame {
    std::uint32_t file = 0;      ///< index into Snapshot::texts
    std::uint32_t function = 0;  ///< index into Snapshot::texts
    std::int64_t line = 0;
    friend bool operator==(const Frame&, const Frame&) = default;
};

/// One entry of the allocator's history.
struct Event {
    enum class Action : std::uint8_t {
        take,           ///< "alloc": a block was handed out
        ask_back,       ///< "free_requested": the program gave it back; another stream may still use it
        give_back,      ///< "free_completed": it is cached again
        take_segment,   ///< "segment_alloc"
        free_segment,   ///< "segment_free"
        map_pages,      ///< "segment_map": of an expandable segment
        unmap_pages,    ///< "segment_unmap"
        out_of_memory,  ///< "oom"
        other,
    };
    Action action = Action::other;
    std::uint64_t address = 0;
    std::int64_t bytes = 0;        ///< requested, of a block; of out_of_memory as it was rounded
    std::int64_t device_free = 0;  ///< of out_of_memory: what the device had left
    std::uint64_t stream = 0;
    std::int64_t time_us = 0;  ///< since 1970; 0: not recorded
    std::uint32_t stack = 0;   ///< index into Snapshot::stacks
};

/// A block of a segment at the end of the recording.
struct Block {
    enum class State : std::uint8_t { live, waiting, cached };  ///< waiting: given back, but another stream may still use it
    std::uint64_t address = 0;
    std::int64_t bytes = 0;
    std::int64_t requested_bytes = 0;  ///< PyTorch 1.13 does not tell; then it is `bytes`
    State state = State::cached;
    std::uint32_t stack = 0;
};

/// A segment at the end of the recording; of an expandable segment, a run of mapped pages.
struct Segment {
    std::uint64_t address = 0;
    std::int64_t bytes = 0;
    std::uint64_t stream = 0;
    std::uint64_t private_pool = 0;  ///< index into Snapshot::private_pools; 0: none
    int device = 0;
    bool small = false;
    bool expandable = false;
    std::vector<Block> blocks;
};

/// The begin or the end of a part of the program that PyTorch names, such as "Optimizer.step#AdamW.step".
struct Annotation {
    std::uint32_t name = 0;  ///< index into Snapshot::texts
    int device = 0;
    bool begins = false;
    std::int64_t time_us = 0;
};

/// What torch.cuda.memory._dump_snapshot() writes: the allocator's state, and its history if that was recorded.
struct Snapshot {
    std::vector<Segment> segments;
    std::vector<std::vector<Event>> history;  ///< by device
    std::vector<Annotation> annotations;
    std::optional<std::string> settings;                 ///< PYTORCH_CUDA_ALLOC_CONF; since PyTorch 2.3
    std::vector<std::string> texts{""};                  ///< each once
    std::vector<Frame> frames;                           ///< each once
    std::vector<std::vector<std::uint32_t>> stacks{{}};  ///< each once; indexes of frames, the innermost first; the first is empty
    std::vector<std::vector<std::uint64_t>> private_pools{{0, 0}};  ///< PyTorch's numbers of each pool of a CUDA graph
    std::size_t unknown_actions = 0;                                ///< events of a kind that is not known here

    [[nodiscard]] bool has_history() const;
    /// The history of a device; empty if it has none.
    [[nodiscard]] std::span<const Event> events_of(int device) const;
    /// The devices that have a segment or an event, in order.
    [[nodiscard]] std::vector<int> devices() const;
};

/// Reads a snapshot of PyTorch 1.13 or later. Errors name the file and say what is wrong: no pickle, no snapshot, damaged. A snapshot
/// without history is none of them. Memory: see PickleReader.
[[nodiscard]] Snapshot read_snapshot(const std::filesystem::path& file);

/// The same of bytes that are there already. `place` is named in errors.
struct EncodedSnapshot {
    std::string bytes;
    std::string place;
};
[[nodiscard]] Snapshot decode_snapshot(EncodedSnapshot encoded);

/// True if a file begins like a pickle of protocol 2 or later.
[[nodiscard]] bool begins_as_pickle(const std::filesystem::path& file);

}  // namespace hpo::allocator
