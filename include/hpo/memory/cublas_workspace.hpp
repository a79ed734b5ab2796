// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "hpo/memory/allocator_settings.hpp"
#include "hpo/memory/compute_capability.hpp"

namespace hpo::memory {

/// The workspace that LibTorch takes from its allocator for each thread that multiplies with cuBLAS, in bytes, unless somebody asks for
/// another: 2 * 4096 KiB + 8 * 16 KiB, and 32 MiB on compute capability 9.0 (Hopper) alone, as 2.11's own code compares it. What is not
/// known is taken to be another. LibTorch 1.13 leaves it to cuBLAS, inside the context.
[[nodiscard]] inline std::int64_t usual_cublas_workspace_bytes(LibTorchVersion version, std::optional<ComputeCapability> device) {
    if (version.major < 2) return 0;
    return device == ComputeCapability{9, 0} ? std::int64_t{32} << 20 : (8 << 20) + (128 << 10);
}

/// The workspace that CUBLAS_WORKSPACE_CONFIG asks for: the sum over all its ":SIZE:COUNT", sizes in KiB. Nothing for a text without one,
/// which LibTorch passes over, or with more than a device could have.
[[nodiscard]] std::optional<std::int64_t> configured_cublas_workspace_bytes(std::string_view text);

}  // namespace hpo::memory

#ifndef HPO_COMPILED
#include "hpo/memory/impl/cublas_workspace_inl.hpp"
#endif
