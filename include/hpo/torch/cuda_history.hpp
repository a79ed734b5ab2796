// SPDX-License-Identifier: MIT
#pragma once

#ifdef HPO_TORCH_CUDA

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>

#include "hpo/core/error.hpp"
#include "hpo/memory/allocation_trace.hpp"
#include "hpo/torch/trace_recorder.hpp"

namespace hpo::torch {

/// One device's entries of LibTorch's history as a trace, in their order, with the sizes that were asked for. A block is given back when
/// it can be taken again (free_completed), which is later than when its owner let go of it where another stream still reads it. An entry
/// belongs to the phase that its metadata names, without any to that of the entry before it.
///
/// What the trace does not have: blocks that were taken before the recording began; requests that were refused; segments, and with them
/// a cache that was emptied on request. Throws Error for blocks of another stream than the default one or of a private pool, which the
/// model of the allocator does not have.
[[nodiscard]] inline memory::AllocationTrace trace_of_history(std::span<const c10::CachingDeviceAllocator::TraceEntry> entries) {
    using Entry = c10::CachingDeviceAllocator::TraceEntry;
    memory::AllocationTrace trace;
    std::unordered_map<std::size_t, std::int64_t> live;  // blocks by their address
    for (const Entry& entry : entries) {
        if (entry.action_ != Entry::ALLOC && entry.action_ != Entry::FREE_COMPLETED) continue;
        if (entry.stream_ != nullptr) throw bad_value("CUDA history", "a block of a further stream", "blocks of the default stream");
        if (entry.mempool_ != c10::MempoolId_t{0, 0})
            throw bad_value("CUDA history", "a block of a private pool", "blocks of the common pools");
        if (!entry.user_metadata_.empty()) trace.enter(entry.user_metadata_);
        if (entry.action_ == Entry::ALLOC) {
            live[entry.addr_] = trace.take({.bytes = static_cast<std::int64_t>(entry.size_)});
        } else if (const auto block = live.find(entry.addr_); block != live.end()) {
            trace.give_back(block->second);
            live.erase(block);
        }
    }
    return trace;
}

/// While it lives, LibTorch keeps a history of what its caching allocator for CUDA does. LibTorch 2.11, with its own allocator and not
/// the driver's asynchronous one.
///
/// Thread safety: `enter` is for the threads that are recorded, the rest for one thread.
///
/// Design note: LibTorch has one history for all devices of a process, and one phase for each thread. Blocks that autograd's threads take
/// carry none and belong to that of the block before them.
class CudaHistory {
public:
    struct Settings {
        c10::DeviceIndex device = 0;
        std::size_t most_entries = std::size_t{1} << 20;  ///< 150 bytes of host memory each; a taken and given back block has 3
    };

    CudaHistory() : CudaHistory{Settings{}} {}
    /// Makes the allocator ready where nothing has used the GPU yet. Throws Error when a history is being kept already.
    explicit CudaHistory(const Settings& settings) : settings_{settings} {
        translated([&] {
            allocator().init(c10::cuda::device_count_ensure_non_zero());
            if (allocator().isHistoryEnabled()) throw Error{Errc::usage, "CUDA history: one is being kept already"};
            began_empty_ = allocator().getDeviceStats(settings_.device).reserved_bytes[0].current == 0;
            record(true);
        });
        TraceRecorder::instance().listen([](std::string_view phase) { enter(std::string{phase}); });
    }
    ~CudaHistory() {
        try {
            stop();
        } catch (...) {  // nothing is lost but memory of the host
        }
    }
    CudaHistory(const CudaHistory&) = delete;
    CudaHistory& operator=(const CudaHistory&) = delete;

    /// What the calling thread takes and gives back from now on belongs to this phase. A training says so itself (TraceRecorder::enter).
    static void enter(const std::string& phase) { allocator().setUserMetadata(phase); }

    /// Whether nothing was reserved when it began. Else the allocator may have served blocks from segments that the trace does not explain.
    [[nodiscard]] bool began_empty() const { return began_empty_; }

    /// Ends it. Throws Error when more was recorded than there was room for: the oldest entries are overwritten, and no part of such a
    /// history says what was reserved.
    [[nodiscard]] memory::AllocationTrace finish() {
        return translated([&] {
            if (!recording_) throw Error{Errc::usage, "CUDA history: it has ended already"};
            const auto snapshot = allocator().snapshot();
            stop();
            const auto& entries = snapshot.device_traces.at(static_cast<std::size_t>(settings_.device));
            if (entries.size() >= settings_.most_entries) {
                throw bad_value("CUDA history", std::to_string(settings_.most_entries) + " entries or more",
                                "fewer than most_entries, which overwrite nothing");
            }
            return trace_of_history(entries);
        });
    }

private:
    static c10::cuda::CUDACachingAllocator::CUDAAllocator& allocator() { return *c10::cuda::CUDACachingAllocator::get(); }
    void record(bool enabled) {
        allocator().recordHistory(enabled, nullptr, settings_.most_entries, c10::CachingDeviceAllocator::RecordContext::NEVER,
                                  /*clearHistory=*/true, /*skip_actions=*/{});
        recording_ = enabled;
    }
    void stop() {
        if (!recording_) return;
        TraceRecorder::instance().listen(nullptr);
        record(false);
    }
    template <class Work>
    static std::invoke_result_t<Work> translated(const Work& work) {
        try {
            return work();
        } catch (const c10::Error& error) {
            throw Error{Errc::no_device, std::string{"CUDA history: "} + error.what_without_backtrace()};
        }
    }

    Settings settings_;
    bool began_empty_ = false;
    bool recording_ = false;
};

}  // namespace hpo::torch

#endif
