// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>

// The binary interface of the CUDA libraries, as far as the virtual card writes into it. The facts are those of the headers of CUDA 12.1
// to 12.8 and of 13.0; tests/virtual_card/abi_check.cpp holds them against a toolkit. All offsets and sizes are in bytes.

#ifndef HPO_CUDA_MAJOR
#error "HPO_CUDA_MAJOR: 12 or 13"
#endif

namespace hpo::virtual_card::abi {

/// Error codes that the runtime and the driver share.
inline constexpr int success = 0;
inline constexpr int invalid_value = 1;
inline constexpr int out_of_memory = 2;
inline constexpr int no_device = 100;
inline constexpr int invalid_device = 101;
inline constexpr int not_found = 500;
inline constexpr int not_supported = 801;

/// Where cudaDeviceProp has what.
struct DeviceProperties {
    static constexpr bool twelve = HPO_CUDA_MAJOR == 12;
    static constexpr std::size_t bytes = twelve ? 1032 : 1008;
    static constexpr std::size_t name = 0;
    static constexpr std::size_t uuid = 256;
    static constexpr std::size_t total_memory = 288;
    static constexpr std::size_t shared_per_block = 296;
    static constexpr std::size_t registers_per_block = 304;
    static constexpr std::size_t warp = 308;
    static constexpr std::size_t pitch = 312;
    static constexpr std::size_t threads_per_block = 320;
    static constexpr std::size_t block_dimensions = 324;
    static constexpr std::size_t grid_dimensions = 336;
    static constexpr std::size_t constant_memory = 352;
    static constexpr std::size_t major = 360;
    static constexpr std::size_t minor = 364;
    static constexpr std::size_t texture_alignment = 368;
    static constexpr std::size_t texture_pitch_alignment = 376;
    static constexpr std::size_t multiprocessors = twelve ? 388 : 384;
    static constexpr std::size_t maps_host_memory = twelve ? 400 : 392;
    static constexpr std::size_t concurrent_kernels = twelve ? 576 : 560;
    static constexpr std::size_t bus = twelve ? 584 : 568;
    static constexpr std::size_t copy_engines = twelve ? 600 : 584;
    static constexpr std::size_t unified_addresses = twelve ? 604 : 588;
    static constexpr std::size_t bus_width = twelve ? 612 : 592;
    static constexpr std::size_t l2_cache = twelve ? 616 : 596;
    static constexpr std::size_t threads_per_multiprocessor = twelve ? 624 : 604;
    static constexpr std::size_t stream_priorities = twelve ? 628 : 608;
    static constexpr std::size_t shared_per_multiprocessor = twelve ? 640 : 624;
    static constexpr std::size_t registers_per_multiprocessor = twelve ? 648 : 632;
    static constexpr std::size_t managed_memory = twelve ? 652 : 636;
    static constexpr std::size_t cooperative_launch = twelve ? 688 : 668;
    static constexpr std::size_t shared_per_block_optin = twelve ? 696 : 672;
    static constexpr std::size_t blocks_per_multiprocessor = twelve ? 712 : 688;
    static constexpr std::size_t reserved_shared_per_block = twelve ? 720 : 696;
};

struct FunctionAttributes {
    std::size_t shared = 0;
    std::size_t constant = 0;
    std::size_t local = 0;
    int threads_per_block = 0;
    int registers = 0;
    int ptx_version = 0;
    int binary_version = 0;
    int cache_mode = 0;
    int dynamic_shared = 0;
    std::array<int, 24> others{};
};
static_assert(sizeof(FunctionAttributes) == 144);

struct PointerAttributes {
    int type = 0;  ///< 0: not known, 1: pinned host memory, 2: device memory
    int device = 0;
    void* device_pointer = nullptr;
    void* host_pointer = nullptr;
#if HPO_CUDA_MAJOR >= 13
    std::array<long, 8> reserved{};
#endif
};
static_assert(sizeof(PointerAttributes) == (HPO_CUDA_MAJOR == 12 ? 24 : 88));

/// One proposal of cublasLtMatmulAlgoGetHeuristic.
struct MatmulProposal {
    std::array<unsigned long, 8> algorithm{};
    std::size_t workspace = 0;
    int state = 0;
    float waves = 1;
    std::array<int, 4> reserved{};
};
static_assert(sizeof(MatmulProposal) == 96);

}  // namespace hpo::virtual_card::abi
