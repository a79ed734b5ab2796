// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include "hpo/failure/codes/error_code.hpp"

namespace hpo {

/// cuDNN's statuses. Codes and names are from its documentation (enum cudnnStatus_t, version 9). Names of version 8 that 9 still knows have
/// the code that they have in 9. CUDNN_STATUS_NOT_SUPPORTED alone is read before this table, because it also follows from missing memory.
inline constexpr auto cudnn_errors = std::to_array<ErrorCode>({
    {1001, "CUDNN_STATUS_NOT_INITIALIZED", error_meaning::lost_context},
    {1002, "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH", error_meaning::unfit_machine},
    {1002, "CUDNN_STATUS_VERSION_MISMATCH", error_meaning::unfit_machine},
    {1003, "CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH", error_meaning::unfit_machine},
    {1004, "CUDNN_STATUS_DEPRECATED", error_meaning::wrong_call},
    {1005, "CUDNN_STATUS_LICENSE_ERROR", error_meaning::unfit_machine},
    {1006, "CUDNN_STATUS_RUNTIME_IN_PROGRESS", error_meaning::passing},
    {1007, "CUDNN_STATUS_RUNTIME_FP_OVERFLOW", error_meaning::wrong_call},
    {1008, "CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED", error_meaning::unfit_machine},
    {2000, "CUDNN_STATUS_BAD_PARAM", error_meaning::wrong_call},
    {2001, "CUDNN_STATUS_INVALID_VALUE", error_meaning::wrong_call},
    {2002, "CUDNN_STATUS_BAD_PARAM_NULL_POINTER", error_meaning::wrong_call},
    {2003, "CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER", error_meaning::wrong_call},
    {2004, "CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED", error_meaning::wrong_call},
    {2005, "CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND", error_meaning::wrong_call},
    {2006, "CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT", error_meaning::wrong_call},
    {2007, "CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH", error_meaning::wrong_call},
    {2008, "CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH", error_meaning::wrong_call},
    {2009, "CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES", error_meaning::wrong_call},
    {2010, "CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE", error_meaning::wrong_call},
    {3000, "CUDNN_STATUS_NOT_SUPPORTED", error_meaning::wrong_call},
    {3001, "CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN", error_meaning::wrong_call},
    {3002, "CUDNN_STATUS_NOT_SUPPORTED_SHAPE", error_meaning::wrong_call},
    {3003, "CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE", error_meaning::wrong_call},
    {3004, "CUDNN_STATUS_NOT_SUPPORTED_LAYOUT", error_meaning::wrong_call},
    {3005, "CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER", error_meaning::unfit_machine},
    {3006, "CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDART", error_meaning::unfit_machine},
    {3007, "CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH", error_meaning::unfit_machine},
    {3007, "CUDNN_STATUS_ARCH_MISMATCH", error_meaning::unfit_machine},
    {3008, "CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING", error_meaning::unfit_machine},
    {3008, "CUDNN_STATUS_RUNTIME_PREREQUISITE_MISSING", error_meaning::unfit_machine},
    {3009, "CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE", error_meaning::unfit_machine},
    {3010, "CUDNN_STATUS_NOT_SUPPORTED_SHARED_MEMORY_INSUFFICIENT", error_meaning::wrong_call},
    {3011, "CUDNN_STATUS_NOT_SUPPORTED_PADDING", error_meaning::wrong_call},
    {4000, "CUDNN_STATUS_INTERNAL_ERROR", error_meaning::lost_context},
    {4001, "CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED", error_meaning::lost_context},
    {4002, "CUDNN_STATUS_INTERNAL_ERROR_UNEXPECTED_VALUE", error_meaning::lost_context},
    {4003, "CUDNN_STATUS_ALLOC_FAILED", error_meaning::no_memory},
    {4004, "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED", error_meaning::no_memory},
    {4005, "CUDNN_STATUS_INTERNAL_ERROR_BAD_LAUNCH_PARAM", error_meaning::wrong_call},
    {4006, "CUDNN_STATUS_INTERNAL_ERROR_TEXTURE_CREATION_FAILED", error_meaning::lost_context},
    {4006, "CUDNN_STATUS_MAPPING_ERROR", error_meaning::lost_context},
    {5000, "CUDNN_STATUS_EXECUTION_FAILED", error_meaning::kernel_fault},
    {5001, "CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER", error_meaning::kernel_fault},
    {5002, "CUDNN_STATUS_EXECUTION_FAILED_CUBLAS", error_meaning::kernel_fault},
    {5003, "CUDNN_STATUS_EXECUTION_FAILED_CUDART", error_meaning::kernel_fault},
    {5004, "CUDNN_STATUS_EXECUTION_FAILED_CURAND", error_meaning::kernel_fault},
});

}  // namespace hpo
