// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "hpo/memory/allocation_trace.hpp"

namespace hpo::torch {

/// Whose blocks a recording holds.
enum class Recorded {
    device,           ///< those of a device
    device_and_host,  ///< and those in host memory, where that is what the metered device's account is of
};

/// Who took and gave back device memory while a Recording lives: the allocators tell, one trace holds it. One recording at a time in a
/// process; outside of it a call costs one load.
///
/// Thread safety: all members.
class TraceRecorder {
public:
    /// What an allocator keeps with a block, and shows when it is given back.
    struct Ticket {
        std::int64_t recording = 0;  ///< 0: nobody recorded it
        std::int64_t block = 0;
    };

    static TraceRecorder& instance() {
        static TraceRecorder recorder;
        return recorder;
    }

    /// `memory`: device for a block of the meta device, device_and_host for one in host memory.
    [[nodiscard]] Ticket take(std::int64_t bytes, Recorded memory);
    void give_back(Ticket ticket);
    /// What follows is taken by whom this names; empty: nobody that is known.
    void enter_scope(const std::string& name);
    /// Says who holds a block that was taken before.
    void name(Ticket ticket, const std::string& scope);
    /// What follows belongs to this phase.
    void enter(std::string_view phase);
    /// What was entered last in the recording that runs; empty without one.
    [[nodiscard]] std::string phase() {
        const std::lock_guard lock{mutex_};
        return recording_ && !trace_.phases.empty() ? trace_.phases.back().name : std::string{};
    }
    /// Told each phase in the thread that enters it, whether or not something is recorded here; null: nobody. Someone else's record of the
    /// same training has its phases from it.
    using PhaseListener = void (*)(std::string_view phase);
    void listen(PhaseListener listener) { listener_ = listener; }
    /// How many phases were entered: changes with each.
    [[nodiscard]] std::int64_t phases() const { return phases_; }

private:
    friend class Recording;

    std::uint32_t number_of(const std::string& scope);

    std::atomic<std::int64_t> recording_{0};  ///< number of the one that runs; 0: none
    std::atomic<std::int64_t> phases_{0};
    std::atomic<PhaseListener> listener_{nullptr};
    std::mutex mutex_;  ///< of what follows
    std::int64_t recordings_ = 0;
    std::uint32_t scope_ = 0;
    std::unordered_map<std::string, std::uint32_t> scopes_;  ///< numbers in the trace
    Recorded recorded_ = Recorded::device;
    memory::AllocationTrace trace_;
};

/// While it lives, device memory is recorded.
class Recording {
public:
    explicit Recording(Recorded recorded);
    ~Recording() { recorder_.recording_ = 0; }
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;

    /// Ends it. Blocks that are still held are never given back in the trace.
    [[nodiscard]] memory::AllocationTrace finish();

private:
    TraceRecorder& recorder_ = TraceRecorder::instance();
};

}  // namespace hpo::torch

#ifndef HPO_COMPILED
#include "hpo/torch/impl/trace_recorder_inl.hpp"
#endif
