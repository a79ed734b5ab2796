// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

#include "hpo/memory/allocation_trace.hpp"
#include "hpo/memory/allocator_settings.hpp"

namespace hpo::memory {

/// What CUDA and its libraries take besides an attempt's tensors. Bytes.
struct CudaOverheads {
    /// Outside the allocator: the context with its kernels. Measured contexts of LibTorch range from 274 MiB (modules loaded lazily) to
    /// 636 MiB (eagerly); this is to be replaced by what a device was seen to take.
    std::int64_t context_bytes = std::int64_t{600} << 20;
    /// From the allocator, kept for ever: cuBLAS's workspace of each thread that multiplies, the one of the forward and that of the
    /// backward pass. 2 * 4096 KiB + 8 * 16 KiB, on Hopper 32 MiB; LibTorch 1.13 leaves it to cuBLAS, inside the context.
    std::int64_t cublas_workspace_bytes = 0;
};

[[nodiscard]] inline CudaOverheads usual_cuda_overheads(LibTorchVersion version) {
    CudaOverheads overheads;
    if (version.major >= 2) overheads.cublas_workspace_bytes = (8 << 20) + (128 << 10);
    return overheads;
}

/// The trace with cuBLAS's workspaces taken at the beginning of the first forward and of the first backward phase.
[[nodiscard]] inline AllocationTrace with_cublas_workspaces(const AllocationTrace& trace, std::int64_t bytes) {
    if (bytes == 0) return trace;
    AllocationTrace result;
    result.scopes = trace.scopes;
    result.libtorch = trace.libtorch;
    result.scopes.emplace_back("cuBLAS workspace");
    const auto scope = static_cast<std::uint32_t>(result.scopes.size() - 1);
    std::vector<std::int64_t> number(trace.blocks.size());
    std::size_t phase = 0;
    bool forward = false;
    bool backward = false;
    const auto take_once = [&](bool& done) {
        if (!done) result.take({.bytes = bytes, .scope = scope});
        done = true;
    };
    for (std::size_t i = 0; i <= trace.events.size(); ++i) {
        for (; phase < trace.phases.size() && trace.phases[phase].first_event == i; ++phase) {
            const std::string_view name = trace.phases[phase].name;
            result.enter(name);
            if (name == "forward") take_once(forward);
            if (name == "backward") take_once(backward);
        }
        if (i == trace.events.size()) break;
        const std::int64_t event = trace.events[i];
        if (event >= 0) number[static_cast<std::size_t>(event)] = result.take(trace.blocks[static_cast<std::size_t>(event)]);
        else result.give_back(number[static_cast<std::size_t>(-1 - event)]);
    }
    return result;
}

}  // namespace hpo::memory
