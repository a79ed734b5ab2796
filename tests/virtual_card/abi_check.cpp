// SPDX-License-Identifier: MIT
// What the virtual card writes into CUDA's structures, held against the toolkit's headers. It compiles, or a fact is wrong.
// The build does so for the toolkit that it has. The facts of CUDA 12 were held by hand against the headers of CUDA 12.1, 12.4 and 12.8,
// which come with PyTorch 2.4, 2.6 and 2.8. For NVIDIA=.../site-packages/nvidia:
//   g++ -std=c++20 -fsyntax-only -DHPO_CUDA_MAJOR=12 -Ivirtual_card/src $(printf -- ' -isystem %s' $NVIDIA/*/include)
//   tests/virtual_card/abi_check.cpp
#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <cstddef>

#include "abi.hpp"

using Facts = hpo::virtual_card::abi::DeviceProperties;

static_assert(CUDART_VERSION / 1000 == HPO_CUDA_MAJOR);
static_assert(sizeof(cudaDeviceProp) == Facts::bytes);
static_assert(offsetof(cudaDeviceProp, name) == Facts::name);
static_assert(offsetof(cudaDeviceProp, uuid) == Facts::uuid);
static_assert(offsetof(cudaDeviceProp, totalGlobalMem) == Facts::total_memory);
static_assert(offsetof(cudaDeviceProp, sharedMemPerBlock) == Facts::shared_per_block);
static_assert(offsetof(cudaDeviceProp, regsPerBlock) == Facts::registers_per_block);
static_assert(offsetof(cudaDeviceProp, warpSize) == Facts::warp);
static_assert(offsetof(cudaDeviceProp, memPitch) == Facts::pitch);
static_assert(offsetof(cudaDeviceProp, maxThreadsPerBlock) == Facts::threads_per_block);
static_assert(offsetof(cudaDeviceProp, maxThreadsDim) == Facts::block_dimensions);
static_assert(offsetof(cudaDeviceProp, maxGridSize) == Facts::grid_dimensions);
static_assert(offsetof(cudaDeviceProp, totalConstMem) == Facts::constant_memory);
static_assert(offsetof(cudaDeviceProp, major) == Facts::major);
static_assert(offsetof(cudaDeviceProp, minor) == Facts::minor);
static_assert(offsetof(cudaDeviceProp, textureAlignment) == Facts::texture_alignment);
static_assert(offsetof(cudaDeviceProp, texturePitchAlignment) == Facts::texture_pitch_alignment);
static_assert(offsetof(cudaDeviceProp, multiProcessorCount) == Facts::multiprocessors);
static_assert(offsetof(cudaDeviceProp, canMapHostMemory) == Facts::maps_host_memory);
static_assert(offsetof(cudaDeviceProp, concurrentKernels) == Facts::concurrent_kernels);
static_assert(offsetof(cudaDeviceProp, pciBusID) == Facts::bus);
static_assert(offsetof(cudaDeviceProp, asyncEngineCount) == Facts::copy_engines);
static_assert(offsetof(cudaDeviceProp, unifiedAddressing) == Facts::unified_addresses);
static_assert(offsetof(cudaDeviceProp, memoryBusWidth) == Facts::bus_width);
static_assert(offsetof(cudaDeviceProp, l2CacheSize) == Facts::l2_cache);
static_assert(offsetof(cudaDeviceProp, maxThreadsPerMultiProcessor) == Facts::threads_per_multiprocessor);
static_assert(offsetof(cudaDeviceProp, streamPrioritiesSupported) == Facts::stream_priorities);
static_assert(offsetof(cudaDeviceProp, sharedMemPerMultiprocessor) == Facts::shared_per_multiprocessor);
static_assert(offsetof(cudaDeviceProp, regsPerMultiprocessor) == Facts::registers_per_multiprocessor);
static_assert(offsetof(cudaDeviceProp, managedMemory) == Facts::managed_memory);
static_assert(offsetof(cudaDeviceProp, cooperativeLaunch) == Facts::cooperative_launch);
static_assert(offsetof(cudaDeviceProp, sharedMemPerBlockOptin) == Facts::shared_per_block_optin);
static_assert(offsetof(cudaDeviceProp, maxBlocksPerMultiProcessor) == Facts::blocks_per_multiprocessor);
static_assert(offsetof(cudaDeviceProp, reservedSharedMemPerBlock) == Facts::reserved_shared_per_block);

using Function = hpo::virtual_card::abi::FunctionAttributes;
static_assert(sizeof(cudaFuncAttributes) == sizeof(Function));
static_assert(offsetof(cudaFuncAttributes, maxThreadsPerBlock) == offsetof(Function, threads_per_block));
static_assert(offsetof(cudaFuncAttributes, numRegs) == offsetof(Function, registers));
static_assert(offsetof(cudaFuncAttributes, binaryVersion) == offsetof(Function, binary_version));
static_assert(offsetof(cudaFuncAttributes, maxDynamicSharedSizeBytes) == offsetof(Function, dynamic_shared));

using Pointer = hpo::virtual_card::abi::PointerAttributes;
static_assert(sizeof(cudaPointerAttributes) == sizeof(Pointer));
static_assert(offsetof(cudaPointerAttributes, devicePointer) == offsetof(Pointer, device_pointer));
static_assert(offsetof(cudaPointerAttributes, hostPointer) == offsetof(Pointer, host_pointer));

using Proposal = hpo::virtual_card::abi::MatmulProposal;
static_assert(sizeof(cublasLtMatmulHeuristicResult_t) == sizeof(Proposal));
static_assert(offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize) == offsetof(Proposal, workspace));
static_assert(offsetof(cublasLtMatmulHeuristicResult_t, state) == offsetof(Proposal, state));
static_assert(cudaErrorMemoryAllocation == hpo::virtual_card::abi::out_of_memory);
static_assert(cudaErrorNoDevice == hpo::virtual_card::abi::no_device);
static_assert(cudaErrorInvalidDevice == hpo::virtual_card::abi::invalid_device);
