// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <charconv>
#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace hpo::allocator {

/// The architecture of an NVIDIA device by CUDA's numbers: 8.9 is Ada, 9.0 Hopper, 10.0 and 12.0 Blackwell.
struct ComputeCapability {
    int major = 0;
    int minor = 0;
    friend auto operator<=>(const ComputeCapability&, const ComputeCapability&) = default;
};

/// The architectures that LibTorch 1.13 to 2.11 can be built for, the oldest first.
inline constexpr std::array<ComputeCapability, 21> known_compute_capabilities{
    {{3, 5}, {3, 7}, {5, 0}, {5, 2}, {5, 3}, {6, 0},  {6, 1},  {6, 2},  {7, 0},  {7, 2}, {7, 5},
     {8, 0}, {8, 6}, {8, 7}, {8, 9}, {9, 0}, {10, 0}, {10, 3}, {11, 0}, {12, 0}, {12, 1}}};

[[nodiscard]] inline std::string to_text(ComputeCapability capability) {
    return std::to_string(capability.major) + "." + std::to_string(capability.minor);
}

/// Reads "9.0". Returns nullopt for any other text.
[[nodiscard]] inline std::optional<ComputeCapability> parse_compute_capability(std::string_view text) {
    ComputeCapability found;
    const char* const end = text.data() + text.size();
    const auto major = std::from_chars(text.data(), end, found.major);
    if (major.ec != std::errc{} || major.ptr == end || *major.ptr != '.') return std::nullopt;
    const auto minor = std::from_chars(major.ptr + 1, end, found.minor);
    if (minor.ec != std::errc{} || minor.ptr != end || found.major < 1 || found.minor < 0) return std::nullopt;
    return found;
}

}  // namespace hpo::allocator
