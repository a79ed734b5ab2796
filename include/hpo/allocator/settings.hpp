// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace hpo::allocator {

/// The version of LibTorch whose rules hold. By default the newest that is modelled.
struct LibTorchVersion {
    int major = 2;
    int minor = 11;
    friend auto operator<=>(const LibTorchVersion&, const LibTorchVersion&) = default;
};

/// The versions whose rules are modelled, the oldest first: 1.13, and all from 2.0 to the newest.
inline constexpr auto modelled_libtorch_versions = [] {
    std::array<LibTorchVersion, LibTorchVersion{}.minor + 2> versions{{{1, 13}}};
    for (int minor = 0; minor <= LibTorchVersion{}.minor; ++minor) versions[static_cast<std::size_t>(minor) + 1] = {2, minor};
    return versions;
}();

[[nodiscard]] inline std::string to_text(LibTorchVersion version) {
    return std::to_string(version.major) + "." + std::to_string(version.minor);
}

/// Reads "1.13.1" or "2.11.0+cu130". Returns nullopt for any other text.
[[nodiscard]] constexpr std::optional<LibTorchVersion> parse_libtorch_version(std::string_view text) {
    std::array<int, 2> numbers{};
    for (int& number : numbers) {
        std::size_t digits = 0;
        for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9' && digits < 6; ++digits)
            number = 10 * number + (text[digits] - '0');
        if (digits == 0) return std::nullopt;
        text.remove_prefix(digits);
        if (&number == &numbers.front()) {
            if (text.empty() || text.front() != '.') return std::nullopt;
            text.remove_prefix(1);
        }
    }
    return LibTorchVersion{numbers[0], numbers[1]};
}

// Sizes of LibTorch's caching allocator for CUDA that are the same in every version.
inline constexpr std::int64_t smallest_block_bytes = 512;            ///< every size is a multiple of it
inline constexpr std::int64_t largest_small_bytes = 1 << 20;         ///< a rounded size up to this goes to the small pool
inline constexpr std::int64_t small_segment_bytes = 2 << 20;         ///< segment size that the small pool requests from the device
inline constexpr std::int64_t usual_large_segment_bytes = 20 << 20;  ///< the same for the large pool; an option since 2.11
inline constexpr std::int64_t own_segment_from_bytes = 10 << 20;     ///< a block of this size or more has a segment of its own
inline constexpr std::int64_t own_segment_step_bytes = 2 << 20;      ///< the size of such a segment is a multiple of it
inline constexpr std::int64_t unlimited_bytes = std::int64_t{1} << 50;

/// The settings of LibTorch's caching allocator in a process, from PYTORCH_CUDA_ALLOC_CONF and setMemoryFraction.
struct AllocatorSettings {
    LibTorchVersion version{};
    std::int64_t max_split_bytes = std::numeric_limits<std::int64_t>::max();  ///< larger blocks are not split
    /// The cached block for a request of at least max_split_bytes must be less than this much larger than the request.
    std::int64_t max_non_split_rounding_bytes = usual_large_segment_bytes;
    std::int64_t large_segment_bytes = usual_large_segment_bytes;
    /// Rounding steps between one power of two and the next, for sizes from 1 MiB, 2 MiB, ... on. 0 and 1: sizes are rounded to 512 bytes.
    std::array<std::uint32_t, 16> power2_divisions{};
    std::int64_t roundup_bypass_bytes = std::numeric_limits<std::int64_t>::max();  ///< larger sizes are rounded to 512 bytes
    double garbage_collection_threshold = 0;  ///< share of the allowed memory; 0: never; no effect without memory_fraction
    bool expandable_segments = false;
    std::optional<double> memory_fraction{};  ///< share of the device that the allocator may take
    friend bool operator==(const AllocatorSettings&, const AllocatorSettings&) = default;

    /// The rounded size of a request. `bytes` is above 0.
    [[nodiscard]] std::int64_t rounded(std::int64_t bytes) const {
        if (bytes < smallest_block_bytes) return smallest_block_bytes;
        const auto size = static_cast<std::uint64_t>(bytes);
        const std::uint64_t divisions =
            power2_divisions[static_cast<std::size_t>(std::clamp(static_cast<int>(std::bit_width(size)) - 21, 0, 15))];
        if (divisions > 1 && bytes <= roundup_bypass_bytes && size > smallest_block_bytes * divisions) {
            const std::uint64_t step = std::bit_floor(size) / divisions;
            return static_cast<std::int64_t>((size + step - 1) / step * step);
        }
        return (bytes + smallest_block_bytes - 1) / smallest_block_bytes * smallest_block_bytes;
    }
    /// The size of the segment that is requested from the device if no cached block fits a rounded size.
    [[nodiscard]] std::int64_t segment(std::int64_t rounded_bytes) const {
        if (rounded_bytes <= largest_small_bytes) return small_segment_bytes;
        if (rounded_bytes < own_segment_from_bytes) return large_segment_bytes;
        return (rounded_bytes + own_segment_step_bytes - 1) / own_segment_step_bytes * own_segment_step_bytes;
    }
};

/// The device that an allocator's replay takes memory from.
struct AllocatorDevice {
    std::int64_t total_bytes = unlimited_bytes;
    std::int64_t outside_bytes = 0;   ///< memory of the context, libraries and other processes
    std::uint64_t address_order = 0;  ///< 0: each new segment lies above all earlier ones; else a seed that shuffles the segments
};

}  // namespace hpo::allocator
