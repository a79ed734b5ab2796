// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "hpo/memory/allocator_settings.hpp"
#include "hpo/memory/compute_capability.hpp"

namespace hpo::memory {

/// The workspace that LibTorch takes from its allocator for each thread that multiplies with cuBLAS, in bytes, unless somebody asks for
/// another: 2 * 4096 KiB + 8 * 16 KiB, and 32 MiB on compute capability 9.0 (Hopper) alone, as 2.11's own code compares it. What is not
/// known is taken to be another. LibTorch 1.13 leaves it to cuBLAS, inside the context.
[[nodiscard]] inline std::int64_t usual_cublas_workspace_bytes(LibTorchVersion version, std::optional<ComputeCapability> device) {
    if (version.major < 2) return 0;
    return device == ComputeCapability{9, 0} ? std::int64_t{32} << 20 : (8 << 20) + (128 << 10);
}

/// The workspace that CUBLAS_WORKSPACE_CONFIG asks for: the sum over all its ":SIZE:COUNT", sizes in KiB. Nothing for a text without one,
/// which LibTorch passes over, or with more than a device could have.
[[nodiscard]] inline std::optional<std::int64_t> configured_cublas_workspace_bytes(std::string_view text) {
    constexpr std::int64_t most_kib = std::int64_t{1} << 40;
    std::optional<std::int64_t> sum_kib;
    const auto number = [&](std::size_t& at) -> std::optional<std::int64_t> {
        std::int64_t value = 0;
        if (at >= text.size() || text[at] != ':') return std::nullopt;
        const auto read = std::from_chars(text.data() + at + 1, text.data() + text.size(), value);
        if (read.ec != std::errc{} || value < 0 || value > most_kib) return std::nullopt;
        at = static_cast<std::size_t>(read.ptr - text.data());
        return value;
    };
    for (std::size_t at = 0; at < text.size();) {
        std::size_t next = at;
        const auto size = number(next);
        const auto count = size ? number(next) : std::nullopt;
        if (!count) {
            ++at;
            continue;
        }
        if (*count > 0 && *size > most_kib / *count) return std::nullopt;
        sum_kib = sum_kib.value_or(0) + *size * *count;
        if (*sum_kib > most_kib) return std::nullopt;
        at = next;
    }
    return sum_kib ? std::optional{*sum_kib * 1024} : std::nullopt;
}

}  // namespace hpo::memory
