// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "hpo/allocator/compute_capability.hpp"
#include "hpo/allocator/settings.hpp"

namespace hpo::allocator {

/// The default size in bytes of the cuBLAS workspace. LibTorch takes one from its allocator for each thread that multiplies with cuBLAS. On
/// compute capability 9.0 (Hopper) alone it is 32 MiB, as LibTorch 2.11's code compares it. On all others, and if `device` is unknown, it
/// is 2 * 4096 KiB + 8 * 16 KiB. Before LibTorch 2.0 it is 0: 1.13 leaves the workspace to cuBLAS, inside the context.
[[nodiscard]] inline std::int64_t usual_cublas_workspace_bytes(LibTorchVersion version, std::optional<ComputeCapability> device) {
    if (version.major < 2) return 0;
    return device == ComputeCapability{9, 0} ? std::int64_t{32} << 20 : (8 << 20) + (128 << 10);
}

/// The workspace size that CUBLAS_WORKSPACE_CONFIG asks for: the sum over all its ":SIZE:COUNT", with sizes in KiB. Returns nullopt for a
/// text without any, which LibTorch ignores, and for a size that no device could have.
[[nodiscard]] std::optional<std::int64_t> configured_cublas_workspace_bytes(std::string_view text);

}  // namespace hpo::allocator
