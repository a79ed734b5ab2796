// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>

#include "hpo/base/inline.hpp"
#include "hpo/failure/codes/error_search.hpp"

namespace hpo::detail {

/// A text that cudaGetErrorString had for a code in older versions.
struct OlderText {
    std::int64_t code;
    std::string_view text;
};
inline constexpr std::array<OlderText, 1> older_cuda_texts{{{46, "all CUDA-capable devices are busy or unavailable"}}};

[[nodiscard]] HPO_INLINE bool ends_word_at(std::string_view text, std::size_t at) {
    return at >= text.size() || (std::isalnum(static_cast<unsigned char>(text[at])) == 0 && text[at] != '_');
}

/// True if the line up to `end` says that what follows is an error of CUDA.
[[nodiscard]] HPO_INLINE bool announces_cuda_error(std::string_view message, std::size_t end) {
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
[[nodiscard]] HPO_INLINE bool has_cuda_text(std::string_view message, std::string_view text, bool anywhere) {
    for (auto at = message.find(text); at != std::string_view::npos; at = message.find(text, at + 1)) {
        if (anywhere || (ends_word_at(message, at + text.size()) && announces_cuda_error(message, at))) return true;
    }
    return false;
}

[[nodiscard]] HPO_INLINE std::size_t length_of_match(std::string_view message, const ErrorCode& error) {
    const bool lasting = error.meaning.what != ErrorClass::memory && error.meaning.what != ErrorClass::transient;
    const bool unmistakable = lasting && error.text.size() > 23 && error.code != 304;
    if (message.find(error.name) != std::string_view::npos || has_cuda_text(message, error.text, unmistakable)) return error.text.size();
    for (const OlderText& older : older_cuda_texts) {
        if (older.code == error.code && has_cuda_text(message, older.text, lasting)) return older.text.size();
    }
    return 0;
}

/// The error whose name stands at `at`, or null.
[[nodiscard]] HPO_INLINE const ErrorCode* name_at(std::string_view line, std::size_t at, const ErrorTable& table) {
    for (const ErrorCode& error : table.errors) {
        if (line.substr(at).starts_with(error.name) && ends_word_at(line, at + error.name.size())) return &error;
    }
    return nullptr;
}

[[nodiscard]] HPO_INLINE const ErrorCode* nccl_text_in(std::string_view line) {
    const auto nccl = std::min(line.find("NCCL"), line.find("nccl"));
    if (nccl == std::string_view::npos) return nullptr;
    for (const ErrorCode& error : nccl_errors) {
        if (line.find(error.text, nccl) != std::string_view::npos) return &error;
    }
    return nullptr;
}

}  // namespace hpo::detail

namespace hpo {

HPO_INLINE const ErrorCode* cuda_error_in(std::string_view message) {
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

HPO_INLINE const ErrorCode* library_error_in(std::string_view line) {
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
