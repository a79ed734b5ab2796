// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>

#include "hpo/failure/codes/error_code.hpp"

namespace hpo {

/// The errors of CUDA's runtime that a training program may meet. Codes, names and texts are from the CUDA runtime's documentation (enum
/// cudaError). Sticky are those after which, as documented, the process has to be started again, and the few that leave no usable context.
/// Before CUDA 10.1 the runtime had other numbers (59 for an assert), so messages are read by text and name.
inline constexpr std::array<ErrorCode, 45> cuda_errors{{
    {1, "cudaErrorInvalidValue", error_meaning::wrong_call, "invalid argument"},
    {2, "cudaErrorMemoryAllocation", error_meaning::no_memory, "out of memory"},
    {3, "cudaErrorInitializationError", error_meaning::lost_context, "initialization error"},
    {4, "cudaErrorCudartUnloading", error_meaning::lost_context, "driver shutting down"},
    {9, "cudaErrorInvalidConfiguration", error_meaning::wrong_call, "invalid configuration argument"},
    {35, "cudaErrorInsufficientDriver", error_meaning::unfit_machine, "CUDA driver version is insufficient for CUDA runtime version"},
    {46, "cudaErrorDevicesUnavailable", error_meaning::broken_device, "CUDA-capable device(s) is/are busy or unavailable"},
    {98, "cudaErrorInvalidDeviceFunction", error_meaning::wrong_call, "invalid device function"},
    {100, "cudaErrorNoDevice", error_meaning::unfit_machine, "no CUDA-capable device is detected"},
    {101, "cudaErrorInvalidDevice", error_meaning::unfit_machine, "invalid device ordinal"},
    {200, "cudaErrorInvalidKernelImage", error_meaning::unfit_machine, "device kernel image is invalid"},
    {209, "cudaErrorNoKernelImageForDevice", error_meaning::unfit_machine, "no kernel image is available for execution on the device"},
    {214, "cudaErrorECCUncorrectable", error_meaning::broken_device, "uncorrectable ECC error encountered"},
    {220, "cudaErrorNvlinkUncorrectable", error_meaning::broken_device, "uncorrectable NVLink error detected during the execution"},
    {222, "cudaErrorUnsupportedPtxVersion", error_meaning::unfit_machine, "the provided PTX was compiled with an unsupported toolchain."},
    {226, "cudaErrorContained", error_meaning::contained, "Invalid access of peer GPU memory over nvlink or a hardware error"},
    {304, "cudaErrorOperatingSystem", error_meaning::lost_context, "OS call failed or operation not supported on this OS"},
    {400, "cudaErrorInvalidResourceHandle", error_meaning::wrong_call, "invalid resource handle"},
    {700, "cudaErrorIllegalAddress", error_meaning::kernel_fault, "an illegal memory access was encountered"},
    {701, "cudaErrorLaunchOutOfResources", error_meaning::wrong_call, "too many resources requested for launch"},
    {702, "cudaErrorLaunchTimeout", error_meaning::kernel_fault, "the launch timed out and was terminated"},
    {709, "cudaErrorContextIsDestroyed", error_meaning::lost_context, "context is destroyed"},
    {710, "cudaErrorAssert", error_meaning::kernel_assert, "device-side assert triggered"},
    {714, "cudaErrorHardwareStackError", error_meaning::lost_context, "hardware stack error"},
    {715, "cudaErrorIllegalInstruction", error_meaning::kernel_fault, "an illegal instruction was encountered"},
    {716, "cudaErrorMisalignedAddress", error_meaning::kernel_fault, "misaligned address"},
    {717, "cudaErrorInvalidAddressSpace", error_meaning::kernel_fault, "operation not supported on global/shared address space"},
    {718, "cudaErrorInvalidPc", error_meaning::kernel_fault, "invalid program counter"},
    {719, "cudaErrorLaunchFailure", error_meaning::kernel_fault, "unspecified launch failure"},
    {720, "cudaErrorCooperativeLaunchTooLarge", error_meaning::wrong_call, "too many blocks in cooperative launch"},
    {721, "cudaErrorTensorMemoryLeak", error_meaning::kernel_fault, "tensor memory not completely freed"},
    {800, "cudaErrorNotPermitted", error_meaning::unfit_machine, "operation not permitted"},
    {801, "cudaErrorNotSupported", error_meaning::unfit_machine, "operation not supported"},
    {802, "cudaErrorSystemNotReady", error_meaning::broken_device, "system not yet initialized"},
    {803, "cudaErrorSystemDriverMismatch", error_meaning::unfit_machine, "system has unsupported display driver / cuda driver combination"},
    {805, "cudaErrorMpsConnectionFailed", error_meaning::passing,
     "MPS client failed to connect to the MPS control daemon or the MPS server"},
    {806, "cudaErrorMpsRpcFailure", error_meaning::passing, "the remote procedural call between the MPS server and the MPS client failed"},
    {807, "cudaErrorMpsServerNotReady", error_meaning::passing, "MPS server is not ready to accept new MPS client requests"},
    {808, "cudaErrorMpsMaxClientsReached", error_meaning::passing,
     "the hardware resources required to create MPS client have been exhausted"},
    {809, "cudaErrorMpsMaxConnectionsReached", error_meaning::passing,
     "the hardware resources required to support device connections have been exhausted"},
    {810, "cudaErrorMpsClientTerminated", error_meaning::lost_peer, "the MPS client has been terminated by the server"},
    {900, "cudaErrorStreamCaptureUnsupported", error_meaning::wrong_call, "operation not permitted when stream is capturing"},
    {901, "cudaErrorStreamCaptureInvalidated", error_meaning::wrong_call, "operation failed due to a previous error during capture"},
    {911, "cudaErrorExternalDevice", error_meaning::lost_context, "an async error has occurred in external entity outside of CUDA"},
    {999, "cudaErrorUnknown", error_meaning::lost_context, "unknown error"},
}};

/// The error with this code, or null.
[[nodiscard]] constexpr const ErrorCode* cuda_error(std::int64_t code) {
    for (const ErrorCode& error : cuda_errors) {
        if (error.code == code) return &error;
    }
    return nullptr;
}

}  // namespace hpo
