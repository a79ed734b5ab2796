// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include "hpo/failure/codes/error_code.hpp"

namespace hpo {

/// The errors of CUDA's driver interface that a training program may meet, as TensorFlow, Triton, CuPy and JAX print them. Codes and names
/// are from the driver's documentation (enum CUresult). Since CUDA 10.1 an error that the runtime has too has the same code there.
inline constexpr auto cuda_driver_errors = std::to_array<ErrorCode>({
    {1, "CUDA_ERROR_INVALID_VALUE", error_meaning::wrong_call},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", error_meaning::no_memory},
    {3, "CUDA_ERROR_NOT_INITIALIZED", error_meaning::lost_context},
    {4, "CUDA_ERROR_DEINITIALIZED", error_meaning::lost_context},
    {34, "CUDA_ERROR_STUB_LIBRARY", error_meaning::unfit_machine},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", error_meaning::broken_device},
    {100, "CUDA_ERROR_NO_DEVICE", error_meaning::unfit_machine},
    {101, "CUDA_ERROR_INVALID_DEVICE", error_meaning::unfit_machine},
    {102, "CUDA_ERROR_DEVICE_NOT_LICENSED", error_meaning::unfit_machine},
    {200, "CUDA_ERROR_INVALID_IMAGE", error_meaning::unfit_machine},
    {201, "CUDA_ERROR_INVALID_CONTEXT", error_meaning::lost_context},
    {205, "CUDA_ERROR_MAP_FAILED", error_meaning::lost_context},
    {206, "CUDA_ERROR_UNMAP_FAILED", error_meaning::lost_context},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", error_meaning::unfit_machine},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE", error_meaning::broken_device},
    {217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", error_meaning::unfit_machine},
    {218, "CUDA_ERROR_INVALID_PTX", error_meaning::unfit_machine},
    {220, "CUDA_ERROR_NVLINK_UNCORRECTABLE", error_meaning::broken_device},
    {221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", error_meaning::unfit_machine},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", error_meaning::unfit_machine},
    {223, "CUDA_ERROR_JIT_COMPILATION_DISABLED", error_meaning::unfit_machine},
    {226, "CUDA_ERROR_CONTAINED", error_meaning::contained},
    {301, "CUDA_ERROR_FILE_NOT_FOUND", error_meaning::unfit_machine},
    {302, "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND", error_meaning::unfit_machine},
    {303, "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", error_meaning::unfit_machine},
    {304, "CUDA_ERROR_OPERATING_SYSTEM", error_meaning::lost_context},
    {400, "CUDA_ERROR_INVALID_HANDLE", error_meaning::wrong_call},
    {401, "CUDA_ERROR_ILLEGAL_STATE", error_meaning::wrong_call},
    {500, "CUDA_ERROR_NOT_FOUND", error_meaning::wrong_call},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", error_meaning::kernel_fault},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", error_meaning::wrong_call},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT", error_meaning::kernel_fault},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", error_meaning::lost_context},
    {710, "CUDA_ERROR_ASSERT", error_meaning::kernel_assert},
    {711, "CUDA_ERROR_TOO_MANY_PEERS", error_meaning::passing},
    {714, "CUDA_ERROR_HARDWARE_STACK_ERROR", error_meaning::lost_context},
    {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", error_meaning::kernel_fault},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", error_meaning::kernel_fault},
    {717, "CUDA_ERROR_INVALID_ADDRESS_SPACE", error_meaning::kernel_fault},
    {718, "CUDA_ERROR_INVALID_PC", error_meaning::kernel_fault},
    {719, "CUDA_ERROR_LAUNCH_FAILED", error_meaning::kernel_fault},
    {720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", error_meaning::wrong_call},
    {721, "CUDA_ERROR_TENSOR_MEMORY_LEAK", error_meaning::kernel_fault},
    {800, "CUDA_ERROR_NOT_PERMITTED", error_meaning::unfit_machine},
    {801, "CUDA_ERROR_NOT_SUPPORTED", error_meaning::unfit_machine},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY", error_meaning::broken_device},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", error_meaning::unfit_machine},
    {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", error_meaning::unfit_machine},
    {805, "CUDA_ERROR_MPS_CONNECTION_FAILED", error_meaning::passing},
    {806, "CUDA_ERROR_MPS_RPC_FAILURE", error_meaning::passing},
    {807, "CUDA_ERROR_MPS_SERVER_NOT_READY", error_meaning::passing},
    {808, "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED", error_meaning::passing},
    {809, "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED", error_meaning::passing},
    {810, "CUDA_ERROR_MPS_CLIENT_TERMINATED", error_meaning::lost_peer},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", error_meaning::wrong_call},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", error_meaning::wrong_call},
    {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", error_meaning::wrong_call},
    {908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", error_meaning::wrong_call},
    {909, "CUDA_ERROR_TIMEOUT", error_meaning::passing},
    {910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", error_meaning::wrong_call},
    {911, "CUDA_ERROR_EXTERNAL_DEVICE", error_meaning::lost_context},
    {999, "CUDA_ERROR_UNKNOWN", error_meaning::lost_context},
});

}  // namespace hpo
