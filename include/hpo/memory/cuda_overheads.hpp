// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "hpo/core/estimate.hpp"
#include "hpo/memory/allocation_trace.hpp"
#include "hpo/memory/allocator_settings.hpp"
#include "hpo/memory/compute_capability.hpp"

namespace hpo::memory {

/// What CUDA and its libraries take besides an attempt's tensors. Bytes.
struct CudaOverheads {
    /// Outside the allocator: the context with its kernels. Measured contexts of LibTorch range from 274 MiB (modules loaded lazily) to
    /// 636 MiB (eagerly); this is to be replaced by what a device was seen to take.
    std::int64_t context_bytes = std::int64_t{600} << 20;
    /// From the allocator, kept for ever: cuBLAS's workspace of each thread that multiplies, the one of the forward and that of the
    /// backward pass.
    std::int64_t cublas_workspace_bytes = 0;
};

inline constexpr std::string_view cublas_workspace_scope = "cuBLAS workspace";

[[nodiscard]] CudaOverheads usual_cuda_overheads(LibTorchVersion version, std::optional<ComputeCapability> device = {});

/// The trace with cuBLAS's workspaces taken at the beginning of the first forward and of the first backward phase.
[[nodiscard]] AllocationTrace with_cublas_workspaces(const AllocationTrace& trace, std::int64_t bytes);

/// As parts_after, of a trace with cuBLAS's workspaces: those that are there by then are workspace, whatever the phase that first needed
/// them.
[[nodiscard]] std::vector<EstimatePart> parts_with_cublas(const AllocationTrace& trace, std::size_t event);

}  // namespace hpo::memory

#ifndef HPO_COMPILED
#include "hpo/memory/impl/cuda_overheads_inl.hpp"
#endif
