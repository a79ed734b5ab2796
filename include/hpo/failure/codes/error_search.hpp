// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <span>
#include <string>
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

namespace hpo::detail {

/// A text that cudaGetErrorString had for a code in older versions.
struct OlderText {
    std::int64_t code;
    std::string_view text;
};
inline constexpr std::array<OlderText, 1> older_cuda_texts{{{46, "all CUDA-capable devices are busy or unavailable"}}};

[[nodiscard]] inline bool ends_word_at(std::string_view text, std::size_t at) {
    return at >= text.size() || (std::isalnum(static_cast<unsigned char>(text[at])) == 0 && text[at] != '_');
}

/// True if the line up to `end` says that what follows is an error of CUDA.
[[nodiscard]] inline bool announces_cuda_error(std::string_view message, std::size_t end) {
    const auto before = end == 0 ? std::string_view::npos : message.rfind('\n', end - 1);
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    std::string line{message.substr(begin, end - begin)};
    if (!line.ends_with(": ") && !line.ends_with(") ") && !line.ends_with("  ")) return false;
    for (char& c : line) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return std::ranges::any_of(
        std::to_array<std::string_view>({"cuda error", "cuda driver error", "hip error", "cuda failure", "cuda runtime error",
                                         "cudacheck fail", "cudasuccess (", "cudacheckerror() failed", "cuda kernel failed"}),
        [&](std::string_view words) { return line.find(words) != std::string::npos; });
}

/// True if the message has the text where it can only be CUDA's.
[[nodiscard]] inline bool has_cuda_text(std::string_view message, std::string_view text, bool anywhere) {
    for (auto at = message.find(text); at != std::string_view::npos; at = message.find(text, at + 1)) {
        if (anywhere || (ends_word_at(message, at + text.size()) && announces_cuda_error(message, at))) return true;
    }
    return false;
}

[[nodiscard]] inline std::size_t length_of_match(std::string_view message, const ErrorCode& error) {
    const bool lasting = error.meaning.what != ErrorClass::memory && error.meaning.what != ErrorClass::transient;
    const bool unmistakable = lasting && error.text.size() > 23 && error.code != 304;
    if (message.find(error.name) != std::string_view::npos || has_cuda_text(message, error.text, unmistakable)) return error.text.size();
    for (const OlderText& older : older_cuda_texts) {
        if (older.code == error.code && has_cuda_text(message, older.text, lasting)) return older.text.size();
    }
    return 0;
}

/// The error whose name stands at `at`, or null.
[[nodiscard]] inline const ErrorCode* name_at(std::string_view line, std::size_t at, const ErrorTable& table) {
    for (const ErrorCode& error : table.errors) {
        if (line.substr(at).starts_with(error.name) && ends_word_at(line, at + error.name.size())) return &error;
    }
    return nullptr;
}

[[nodiscard]] inline const ErrorCode* nccl_text_in(std::string_view line) {
    const auto nccl = std::min(line.find("NCCL"), line.find("nccl"));
    if (nccl == std::string_view::npos) return nullptr;
    for (const ErrorCode& error : nccl_errors) {
        if (line.find(error.text, nccl) != std::string_view::npos) return &error;
    }
    return nullptr;
}

}  // namespace hpo::detail

namespace hpo {

inline const ErrorCode* cuda_error_in(std::string_view message) {
    const ErrorCode* found = nullptr;
    std::size_t best = 0;
    for (const ErrorCode& error : cuda_errors) {
        if (const std::size_t length = detail::length_of_match(message, error); length > best) {
            best = length;
            found = &error;
        }
    }
    return found;
}

inline const ErrorCode* library_error_in(std::string_view line) {
    const ErrorCode* first = nullptr;
    std::size_t place = std::string_view::npos;
    for (const ErrorTable& table : library_errors) {
        for (auto at = line.find(table.prefix); at < place; at = line.find(table.prefix, at + 1)) {
            if (at > 0 && !detail::ends_word_at(line, at - 1)) continue;
            if (const ErrorCode* error = detail::name_at(line, at, table)) {
                first = error;
                place = at;
            }
        }
    }
    return first ? first : detail::nccl_text_in(line);
}

}  // namespace hpo
