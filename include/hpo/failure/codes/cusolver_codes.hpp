// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include "hpo/failure/codes/error_code.hpp"

namespace hpo {

/// cuSOLVER's statuses. Codes and names are from its documentation (enum cusolverStatus_t).
inline constexpr auto cusolver_errors = std::to_array<ErrorCode>({
    {1, "CUSOLVER_STATUS_NOT_INITIALIZED", error_meaning::lost_context},
    {2, "CUSOLVER_STATUS_ALLOC_FAILED", error_meaning::no_memory},
    {3, "CUSOLVER_STATUS_INVALID_VALUE", error_meaning::wrong_call},
    {4, "CUSOLVER_STATUS_ARCH_MISMATCH", error_meaning::unfit_machine},
    {5, "CUSOLVER_STATUS_MAPPING_ERROR", error_meaning::lost_context},
    {6, "CUSOLVER_STATUS_EXECUTION_FAILED", error_meaning::kernel_fault},
    {7, "CUSOLVER_STATUS_INTERNAL_ERROR", error_meaning::lost_context},
    {8, "CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED", error_meaning::wrong_call},
    {9, "CUSOLVER_STATUS_NOT_SUPPORTED", error_meaning::wrong_call},
    {10, "CUSOLVER_STATUS_ZERO_PIVOT", error_meaning::wrong_call},
    {11, "CUSOLVER_STATUS_INVALID_LICENSE", error_meaning::unfit_machine},
    {31, "CUSOLVER_STATUS_INVALID_WORKSPACE", error_meaning::wrong_call},
});

}  // namespace hpo
