// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include "hpo/failure/codes/error_code.hpp"

namespace hpo {

/// cuBLAS's statuses. Codes and names are from its documentation (enum cublasStatus_t). A handle that cannot be created is read before this
/// table, because memory is missing then.
inline constexpr auto cublas_errors = std::to_array<ErrorCode>({
    {1, "CUBLAS_STATUS_NOT_INITIALIZED", error_meaning::lost_context},
    {3, "CUBLAS_STATUS_ALLOC_FAILED", error_meaning::no_memory},
    {7, "CUBLAS_STATUS_INVALID_VALUE", error_meaning::wrong_call},
    {8, "CUBLAS_STATUS_ARCH_MISMATCH", error_meaning::unfit_machine},
    {11, "CUBLAS_STATUS_MAPPING_ERROR", error_meaning::lost_context},
    {13, "CUBLAS_STATUS_EXECUTION_FAILED", error_meaning::kernel_fault},
    {14, "CUBLAS_STATUS_INTERNAL_ERROR", error_meaning::lost_context},
    {15, "CUBLAS_STATUS_NOT_SUPPORTED", error_meaning::wrong_call},
    {16, "CUBLAS_STATUS_LICENSE_ERROR", error_meaning::unfit_machine},
});

}  // namespace hpo
