// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "hpo/allocator/allocation_trace.hpp"

namespace hpo::libtorch {

/// The blocks that a recording holds.
enum class Recorded {
    device,           ///< blocks of a device
    device_and_host,  ///< also blocks in host memory, because a metered CPU device counts those
};

/// Records the blocks of device memory that are taken and given back while a Recording lives. The allocators report to it. One recording at
/// a time in a process. Outside of a recording, a call costs one load.
///
/// Thread safety: all members.
class TraceRecorder {
public:
    /// An allocator keeps it with a block, and hands it in when the block is given back.
    struct Ticket {
        std::int64_t recording = 0;  ///< 0: not recorded
        std::int64_t block = 0;
    };

    static TraceRecorder& instance() {
        static TraceRecorder recorder;
        return recorder;
    }

    /// Call it for a new block. `memory` is device for a block of the meta device, and device_and_host for a block in host memory.
    [[nodiscard]] Ticket take(std::int64_t bytes, Recorded memory);
    void give_back(Ticket ticket);
    /// Sets the scope of the blocks that follow. It is empty if unknown.
    void enter_scope(const std::string& name);
    /// Sets the scope of a block that was taken before.
    void name(Ticket ticket, const std::string& scope);
    /// The number of blocks that were taken so far. 0 if no recording runs.
    [[nodiscard]] std::size_t blocks() {
        const std::lock_guard lock{mutex_};
        return recording_ ? trace_.blocks.size() : 0;
    }
    /// Puts a text before the scopes of all blocks from number `first` on, but for those that `name` has named.
    void put_before_scopes(std::size_t first, const std::string& text);
    /// Sets the phase of the blocks that follow.
    void enter(std::string_view phase);
    /// The number of the running recording. 0 if none is running.
    [[nodiscard]] std::int64_t recording() const { return recording_; }
    /// The phase that the running recording entered last. Empty if none is running.
    [[nodiscard]] std::string phase() {
        const std::lock_guard lock{mutex_};
        return recording_ && !trace_.phases.empty() ? trace_.phases.back().name : std::string{};
    }
    /// The listener is called for each phase, in the thread that enters it, even if no recording runs here. null removes it. LibTorch's own
    /// record of a training (CudaHistory) gets its phases this way.
    using PhaseListener = void (*)(std::string_view phase);
    void listen(PhaseListener listener) { listener_ = listener; }
    /// How many phases were entered. It changes with each.
    [[nodiscard]] std::int64_t phases() const { return phases_; }

private:
    friend class Recording;

    std::uint32_t number_of(const std::string& scope);

    std::atomic<std::int64_t> recording_{0};  ///< number of the running recording; 0: none
    std::atomic<std::int64_t> phases_{0};
    std::atomic<PhaseListener> listener_{nullptr};
    std::mutex mutex_;  ///< guards the members below
    std::int64_t recordings_ = 0;
    std::uint32_t scope_ = 0;
    std::unordered_map<std::string, std::uint32_t> scopes_;  ///< a scope's number in the trace
    std::unordered_set<std::size_t> named_;                  ///< blocks
    Recorded recorded_ = Recorded::device;
    allocator::AllocationTrace trace_;
};

/// While it lives, device memory is recorded.
class Recording {
public:
    explicit Recording(Recorded recorded);
    ~Recording() { recorder_.recording_ = 0; }
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;

    /// Ends the recording. In the trace, blocks that are still held are never given back.
    [[nodiscard]] allocator::AllocationTrace finish();

private:
    TraceRecorder& recorder_ = TraceRecorder::instance();
};

}  // namespace hpo::libtorch
