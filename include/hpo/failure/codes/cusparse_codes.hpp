// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include "hpo/failure/codes/error_code.hpp"

namespace hpo {

/// cuSPARSE's statuses. Codes and names are from its documentation (enum cusparseStatus_t).
inline constexpr auto cusparse_errors = std::to_array<ErrorCode>({
    {1, "CUSPARSE_STATUS_NOT_INITIALIZED", error_meaning::lost_context},
    {2, "CUSPARSE_STATUS_ALLOC_FAILED", error_meaning::no_memory},
    {3, "CUSPARSE_STATUS_INVALID_VALUE", error_meaning::wrong_call},
    {4, "CUSPARSE_STATUS_ARCH_MISMATCH", error_meaning::unfit_machine},
    {5, "CUSPARSE_STATUS_MAPPING_ERROR", error_meaning::lost_context},
    {6, "CUSPARSE_STATUS_EXECUTION_FAILED", error_meaning::kernel_fault},
    {7, "CUSPARSE_STATUS_INTERNAL_ERROR", error_meaning::lost_context},
    {8, "CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED", error_meaning::wrong_call},
    {9, "CUSPARSE_STATUS_ZERO_PIVOT", error_meaning::wrong_call},
    {10, "CUSPARSE_STATUS_NOT_SUPPORTED", error_meaning::wrong_call},
    {11, "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES", error_meaning::no_memory},
});

}  // namespace hpo
