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

#include "hpo/memory/allocation_trace.hpp"

namespace hpo::torch {

/// One device's entries of LibTorch's history as a trace, in their order, with the sizes that were asked for. A block is given back when
/// it can be taken again (free_completed), which is later than when its owner let go of it where another stream still reads it. An entry
/// belongs to the phase that its metadata names, without any to that of the entry before it.
///
/// What the trace does not have: blocks that were taken before the recording began; requests that were refused; segments, and with them
/// a cache that was emptied on request. Throws Error for blocks of another stream than the default one or of a private pool, which the
/// model of the allocator does not have.
[[nodiscard]] memory::AllocationTrace trace_of_history(std::span<const c10::CachingDeviceAllocator::TraceEntry> entries);

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
    explicit CudaHistory(const Settings& settings);
    ~CudaHistory();
    CudaHistory(const CudaHistory&) = delete;
    CudaHistory& operator=(const CudaHistory&) = delete;

    /// What the calling thread takes and gives back from now on belongs to this phase. A training says so itself (TraceRecorder::enter).
    static void enter(const std::string& phase) { allocator().setUserMetadata(phase); }

    /// Whether nothing was reserved when it began. Else the allocator may have served blocks from segments that the trace does not explain.
    [[nodiscard]] bool began_empty() const { return began_empty_; }

    /// Ends it. Throws Error when more was recorded than there was room for: the oldest entries are overwritten, and no part of such a
    /// history says what was reserved.
    [[nodiscard]] memory::AllocationTrace finish();

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

}  // namespace hpo::torch

#endif

#ifndef HPO_COMPILED
#include "hpo/torch/impl/cuda_history_inl.hpp"
#endif
