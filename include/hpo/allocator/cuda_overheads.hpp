// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "hpo/allocator/allocation_trace.hpp"
#include "hpo/allocator/compute_capability.hpp"
#include "hpo/allocator/settings.hpp"
#include "hpo/core/estimate.hpp"

namespace hpo::allocator {

/// What CUDA and its libraries take besides an attempt's tensors, in bytes.
struct CudaOverheads {
    /// Outside the allocator: the context with its kernels. Measured contexts of LibTorch range from 274 MiB (modules loaded lazily) to 636
    /// MiB (eagerly). Replace this by the measured size if a device has been measured.
    std::int64_t context_bytes = std::int64_t{600} << 20;
    /// From the allocator, and kept for ever: the cuBLAS workspace of each thread that multiplies. One thread runs the forward pass,
    /// another the backward pass.
    std::int64_t cublas_workspace_bytes = 0;
};

inline constexpr std::string_view cublas_workspace_scope = "cuBLAS workspace";
/// Of a block that a dry run records itself: a thread takes 1 MiB when it adds a bias to a product for the first time, and keeps it.
inline constexpr std::string_view cublaslt_workspace_scope = "cuBLASLt workspace";

[[nodiscard]] CudaOverheads usual_cuda_overheads(LibTorchVersion version, std::optional<ComputeCapability> device = {});

/// The trace with the cuBLAS workspaces added. They are taken at the beginning of the first forward and of the first backward phase. A
/// trace that has any stays as it is: a dry run for CUDA records them where they are taken.
[[nodiscard]] AllocationTrace with_cublas_workspaces(const AllocationTrace& trace, std::int64_t bytes);

/// As parts_after, for a trace with cuBLAS workspaces. These count as workspace, whatever phase took them.
[[nodiscard]] std::vector<EstimatePart> parts_with_cublas(const AllocationTrace& trace, std::size_t event);

}  // namespace hpo::allocator
