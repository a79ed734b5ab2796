// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "hpo/failure/codes/cublas_codes.hpp"
#include "hpo/failure/codes/cuda_codes.hpp"
#include "hpo/failure/codes/cudnn_codes.hpp"
#include "hpo/failure/codes/cufft_codes.hpp"
#include "hpo/failure/codes/cusolver_codes.hpp"
#include "hpo/failure/codes/cusparse_codes.hpp"
#include "hpo/failure/codes/driver_codes.hpp"
#include "hpo/failure/codes/error_code.hpp"
#include "hpo/failure/codes/nccl_codes.hpp"

namespace hpo {

/// The table of one library.
struct ErrorTable {
    std::string_view library;
    std::string_view prefix;  ///< with which its names begin
    std::span<const ErrorCode> errors;
};

/// The tables of what programs name, without CUDA's runtime.
inline constexpr std::array<ErrorTable, 7> library_errors{{
    {"CUDA's driver", "CUDA_ERROR_", cuda_driver_errors},
    {"cuDNN", "CUDNN_STATUS_", cudnn_errors},
    {"cuBLAS", "CUBLAS_STATUS_", cublas_errors},
    {"cuSOLVER", "CUSOLVER_STATUS_", cusolver_errors},
    {"cuSPARSE", "CUSPARSE_STATUS_", cusparse_errors},
    {"cuFFT", "CUFFT_", cufft_errors},
    {"NCCL", "nccl", nccl_errors},
}};

/// The error of CUDA's runtime that a message names, or null. It is found by its name anywhere, or by its text in a line that speaks of an
/// error of CUDA before it ("CUDA error: ", "CUDA failure 700: ", "cuda runtime error (59) : "). Sticky, hardware and permanent errors with
/// a unique text are found anywhere. If a message names several, the one with the longest text counts.
[[nodiscard]] const ErrorCode* cuda_error_in(std::string_view message);

/// The first error in a line that library_errors has, or null. NCCL's errors are also found by their texts behind "NCCL".
[[nodiscard]] const ErrorCode* library_error_in(std::string_view line);

/// True for an error of CUDA's driver. Its code is the one of the runtime's error.
[[nodiscard]] constexpr bool is_driver_error(const ErrorCode& error) {
    for (const ErrorCode& each : cuda_driver_errors) {
        if (&each == &error) return true;
    }
    return false;
}

}  // namespace hpo

#ifndef HPO_COMPILED
#include "hpo/failure/codes/impl/error_search_inl.hpp"
#endif
