// SPDX-License-Identifier: MIT
#pragma once

#ifdef HPO_TORCH_CUDA

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>

#include "hpo/allocator/allocation_trace.hpp"

namespace hpo::libtorch {

/// Turns one device's entries of LibTorch's history into a trace, in their order and with the requested sizes. A block counts as given back
/// when it can be taken again (free_completed). That is later than its owner's release if another stream still reads it. An entry belongs
/// to the phase in its metadata, or without metadata to the phase of the entry before it.
///
/// The trace lacks blocks that were taken before the recording began, refused requests, and segments, so it also lacks a cache that was
/// emptied on request. Throws Error for blocks of another stream than the default one or of a private pool. The model of the allocator has
/// neither.
[[nodiscard]] allocator::AllocationTrace trace_of_history(std::span<const c10::CachingDeviceAllocator::TraceEntry> entries);

/// While it lives, LibTorch keeps a history of its caching allocator for CUDA. It needs LibTorch 2.11 with its own allocator, not the
/// driver's asynchronous one.
///
/// Thread safety: the recorded threads call `enter`. One thread calls all other members.
///
/// Design note: LibTorch has one history for all devices of a process, and one phase for each thread. Blocks of autograd's threads carry no
/// phase. They belong to the phase of the block before them.
class CudaHistory {
public:
    struct Settings {
        c10::DeviceIndex device = 0;
        std::size_t most_entries = std::size_t{1} << 20;  ///< 150 bytes of host memory each; a block that is taken and given back has 3
    };

    CudaHistory() : CudaHistory{Settings{}} {}
    /// Makes the allocator ready if the GPU was not used yet. Throws Error if a history is being kept already.
    explicit CudaHistory(const Settings& settings);
    ~CudaHistory();
    CudaHistory(const CudaHistory&) = delete;
    CudaHistory& operator=(const CudaHistory&) = delete;

    /// Sets the phase of the calling thread's blocks from now on. A training does this itself (TraceRecorder::enter).
    static void enter(const std::string& phase) { allocator().setUserMetadata(phase); }

    /// Whether no memory was reserved when it began. Otherwise the allocator may have served blocks from segments that the trace does not
    /// know.
    [[nodiscard]] bool began_empty() const { return began_empty_; }

    /// Ends the recording. Throws Error if there were more entries than room for them. The oldest are then overwritten, and the rest does
    /// not say how much was reserved.
    [[nodiscard]] allocator::AllocationTrace finish();

private:
    static c10::cuda::CUDACachingAllocator::CUDAAllocator& allocator() { return *c10::cuda::CUDACachingAllocator::get(); }
    void record(bool enabled);
    void stop();
    template <class Work>
    static std::invoke_result_t<Work> translated(const Work& work);

    Settings settings_;
    bool began_empty_ = false;
    bool recording_ = false;
};

}  // namespace hpo::libtorch

#endif
