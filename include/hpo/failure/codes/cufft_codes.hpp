// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include "hpo/failure/codes/error_code.hpp"

namespace hpo {

/// cuFFT's results. Codes and names are from its documentation (enum cufftResult).
inline constexpr auto cufft_errors = std::to_array<ErrorCode>({
    {1, "CUFFT_INVALID_PLAN", error_meaning::wrong_call},
    {2, "CUFFT_ALLOC_FAILED", error_meaning::no_memory},
    {3, "CUFFT_INVALID_TYPE", error_meaning::wrong_call},
    {4, "CUFFT_INVALID_VALUE", error_meaning::wrong_call},
    {5, "CUFFT_INTERNAL_ERROR", error_meaning::lost_context},
    {6, "CUFFT_EXEC_FAILED", error_meaning::kernel_fault},
    {7, "CUFFT_SETUP_FAILED", error_meaning::lost_context},
    {8, "CUFFT_INVALID_SIZE", error_meaning::wrong_call},
    {11, "CUFFT_INVALID_DEVICE", error_meaning::wrong_call},
    {13, "CUFFT_NO_WORKSPACE", error_meaning::wrong_call},
    {14, "CUFFT_NOT_IMPLEMENTED", error_meaning::wrong_call},
    {15, "CUFFT_LICENSE_ERROR", error_meaning::unfit_machine},
    {16, "CUFFT_NOT_SUPPORTED", error_meaning::wrong_call},
    {17, "CUFFT_MISSING_DEPENDENCY", error_meaning::unfit_machine},
});

}  // namespace hpo
