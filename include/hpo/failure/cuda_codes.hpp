// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "hpo/core/failure.hpp"

namespace hpo {

/// What a CUDA error means for the process that met it.
enum class CudaErrorClass {
    memory,     ///< the allocation failed; the context still works
    transient,  ///< the call failed; the context still works, or works again later
    sticky,     ///< every later call fails, too: the process has to end
    hardware,   ///< the device should not be used any more
    permanent,  ///< the same call can never succeed on this machine
};

/// One error of the CUDA runtime.
struct CudaError {
    std::int64_t code;
    std::string_view name;
    CudaErrorClass meaning;
    std::string_view text;  ///< as cudaGetErrorString words it
};

/// The errors that a training program may meet. Codes, names and texts are from the CUDA runtime's documentation (Error Handling, enum
/// cudaError). `sticky` are those documented with "the process must be terminated and relaunched", and the few that leave no usable context
/// behind.
inline constexpr std::array<CudaError, 45> cuda_errors{{
    {1, "cudaErrorInvalidValue", CudaErrorClass::transient, "invalid argument"},
    {2, "cudaErrorMemoryAllocation", CudaErrorClass::memory, "out of memory"},
    {3, "cudaErrorInitializationError", CudaErrorClass::sticky, "initialization error"},
    {4, "cudaErrorCudartUnloading", CudaErrorClass::sticky, "driver shutting down"},
    {9, "cudaErrorInvalidConfiguration", CudaErrorClass::transient, "invalid configuration argument"},
    {35, "cudaErrorInsufficientDriver", CudaErrorClass::permanent, "CUDA driver version is insufficient for CUDA runtime version"},
    {46, "cudaErrorDevicesUnavailable", CudaErrorClass::hardware, "CUDA-capable device(s) is/are busy or unavailable"},
    {98, "cudaErrorInvalidDeviceFunction", CudaErrorClass::transient, "invalid device function"},
    {100, "cudaErrorNoDevice", CudaErrorClass::permanent, "no CUDA-capable device is detected"},
    {101, "cudaErrorInvalidDevice", CudaErrorClass::permanent, "invalid device ordinal"},
    {200, "cudaErrorInvalidKernelImage", CudaErrorClass::permanent, "device kernel image is invalid"},
    {209, "cudaErrorNoKernelImageForDevice", CudaErrorClass::permanent, "no kernel image is available for execution on the device"},
    {214, "cudaErrorECCUncorrectable", CudaErrorClass::hardware, "uncorrectable ECC error encountered"},
    {220, "cudaErrorNvlinkUncorrectable", CudaErrorClass::hardware, "uncorrectable NVLink error detected during the execution"},
    {222, "cudaErrorUnsupportedPtxVersion", CudaErrorClass::permanent, "the provided PTX was compiled with an unsupported toolchain."},
    {226, "cudaErrorContained", CudaErrorClass::sticky, "Invalid access of peer GPU memory over nvlink or a hardware error"},
    {304, "cudaErrorOperatingSystem", CudaErrorClass::sticky, "OS call failed or operation not supported on this OS"},
    {400, "cudaErrorInvalidResourceHandle", CudaErrorClass::transient, "invalid resource handle"},
    {700, "cudaErrorIllegalAddress", CudaErrorClass::sticky, "an illegal memory access was encountered"},
    {701, "cudaErrorLaunchOutOfResources", CudaErrorClass::transient, "too many resources requested for launch"},
    {702, "cudaErrorLaunchTimeout", CudaErrorClass::sticky, "the launch timed out and was terminated"},
    {709, "cudaErrorContextIsDestroyed", CudaErrorClass::sticky, "context is destroyed"},
    {710, "cudaErrorAssert", CudaErrorClass::sticky, "device-side assert triggered"},
    {714, "cudaErrorHardwareStackError", CudaErrorClass::sticky, "hardware stack error"},
    {715, "cudaErrorIllegalInstruction", CudaErrorClass::sticky, "an illegal instruction was encountered"},
    {716, "cudaErrorMisalignedAddress", CudaErrorClass::sticky, "misaligned address"},
    {717, "cudaErrorInvalidAddressSpace", CudaErrorClass::sticky, "operation not supported on global/shared address space"},
    {718, "cudaErrorInvalidPc", CudaErrorClass::sticky, "invalid program counter"},
    {719, "cudaErrorLaunchFailure", CudaErrorClass::sticky, "unspecified launch failure"},
    {720, "cudaErrorCooperativeLaunchTooLarge", CudaErrorClass::transient, "too many blocks in cooperative launch"},
    {721, "cudaErrorTensorMemoryLeak", CudaErrorClass::sticky, "tensor memory not completely freed"},
    {800, "cudaErrorNotPermitted", CudaErrorClass::permanent, "operation not permitted"},
    {801, "cudaErrorNotSupported", CudaErrorClass::permanent, "operation not supported"},
    {802, "cudaErrorSystemNotReady", CudaErrorClass::hardware, "system not yet initialized"},
    {803, "cudaErrorSystemDriverMismatch", CudaErrorClass::permanent, "system has unsupported display driver / cuda driver combination"},
    {805, "cudaErrorMpsConnectionFailed", CudaErrorClass::transient,
     "MPS client failed to connect to the MPS control daemon or the MPS server"},
    {806, "cudaErrorMpsRpcFailure", CudaErrorClass::transient,
     "the remote procedural call between the MPS server and the MPS client failed"},
    {807, "cudaErrorMpsServerNotReady", CudaErrorClass::transient, "MPS server is not ready to accept new MPS client requests"},
    {808, "cudaErrorMpsMaxClientsReached", CudaErrorClass::transient,
     "the hardware resources required to create MPS client have been exhausted"},
    {809, "cudaErrorMpsMaxConnectionsReached", CudaErrorClass::transient,
     "the hardware resources required to support device connections have been exhausted"},
    {810, "cudaErrorMpsClientTerminated", CudaErrorClass::sticky, "the MPS client has been terminated by the server"},
    {900, "cudaErrorStreamCaptureUnsupported", CudaErrorClass::transient, "operation not permitted when stream is capturing"},
    {901, "cudaErrorStreamCaptureInvalidated", CudaErrorClass::transient, "operation failed due to a previous error during capture"},
    {911, "cudaErrorExternalDevice", CudaErrorClass::sticky, "an async error has occurred in external entity outside of CUDA"},
    {999, "cudaErrorUnknown", CudaErrorClass::sticky, "unknown error"},
}};

/// The error with this code, or null.
[[nodiscard]] constexpr const CudaError* cuda_error(std::int64_t code) {
    for (const CudaError& error : cuda_errors) {
        if (error.code == code) return &error;
    }
    return nullptr;
}

/// The error that a message names, or null. It is found by its name anywhere, or by its text right after "CUDA error: " (also "HIP error:
/// ", "CUDA driver error: "). Sticky, hardware and permanent errors with a unique text are found anywhere.
[[nodiscard]] inline const CudaError* cuda_error_in(std::string_view message) {
    const CudaError* found = nullptr;
    std::size_t best = 0;  // the longest match wins: "invalid device function" over "invalid device ordinal"'s prefix
    for (const CudaError& error : cuda_errors) {
        bool match = message.find(error.name) != std::string_view::npos;
        for (const std::string_view prefix :
             {std::string_view{"CUDA error: "}, std::string_view{"CUDA driver error: "}, std::string_view{"HIP error: "}}) {
            for (auto at = message.find(prefix); !match && at != std::string_view::npos; at = message.find(prefix, at + 1)) {
                match = message.substr(at + prefix.size()).starts_with(error.text);
            }
        }
        const bool unmistakable = error.meaning != CudaErrorClass::memory && error.meaning != CudaErrorClass::transient &&
                                  error.text.size() > 23 && error.code != 304;
        match = match || (unmistakable && message.find(error.text) != std::string_view::npos);
        if (match && error.text.size() > best) {
            best = error.text.size();
            found = &error;
        }
    }
    return found;
}

/// The kind of failure for an error of this class.
[[nodiscard]] constexpr FailureKind failure_kind_of(CudaErrorClass meaning) {
    switch (meaning) {
        case CudaErrorClass::memory: return FailureKind::out_of_memory;
        case CudaErrorClass::transient: return FailureKind::cuda_transient;
        case CudaErrorClass::sticky: return FailureKind::cuda_sticky;
        case CudaErrorClass::hardware: return FailureKind::hardware;
        case CudaErrorClass::permanent: return FailureKind::environment;
    }
    return FailureKind::trainer_error;
}

}  // namespace hpo
