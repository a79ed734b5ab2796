// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hpo/allocator/settings.hpp"

namespace hpo::tests {

/// Part of a segment of the plain allocator.
struct PlainPiece {
    std::int64_t bytes = 0;
    enum Kind { used, idle, hole } kind = used;
    std::size_t owner = 0;  ///< the trace's block, while used
    std::int64_t idle_since = 0;
};

/// What the plain allocator has from the device in one piece, or has addresses for.
struct PlainSegment {
    std::uint64_t place = 0;
    std::uint32_t stream = 0;
    bool small = false;
    std::vector<PlainPiece> pieces;

    [[nodiscard]] bool all_idle() const { return pieces.size() == 1 && pieces[0].kind == PlainPiece::idle; }
    /// Neighbours that are idle, or holes, become one; with the place of the younger one in time.
    void tidy() {
        for (std::size_t i = 1; i < pieces.size();) {
            PlainPiece& left = pieces[i - 1];
            const PlainPiece& right = pieces[i];
            if (left.kind != right.kind || left.kind == PlainPiece::used) {
                ++i;
                continue;
            }
            left.bytes += right.bytes;
            left.idle_since = std::max(left.idle_since, right.idle_since);
            pieces.erase(pieces.begin() + std::ptrdiff_t(i));
        }
    }
};

/// What is taken from the device or given back to it.
struct PlainChange {
    bool taken = false;
    std::uint64_t place = 0;  ///< of the segment
    std::uint32_t stream = 0;
    std::int64_t offset = 0;  ///< inside it
    std::int64_t bytes = 0;
};

/// Sizes of blocks and of what the device is asked for, counted up to in steps.
class PlainSizes {
public:
    explicit PlainSizes(const allocator::AllocatorSettings& settings) : settings_{settings} {}
    static constexpr std::int64_t kib(std::int64_t count) { return count * 1024; }

    [[nodiscard]] std::int64_t rounded(std::int64_t bytes) const {
        std::int64_t power = 1;
        std::size_t log = 0;
        while (power * 2 <= bytes) {
            power *= 2;
            ++log;
        }
        const std::int64_t parts = settings_.power2_divisions[log < 20 ? 0 : std::min<std::size_t>(log - 20, 15)];
        if (parts > 1 && bytes > 512 * parts && bytes <= settings_.roundup_bypass_bytes) {
            std::int64_t size = power;
            while (size < bytes) size += power / parts;
            return size;
        }
        return bytes % 512 == 0 ? bytes : bytes + 512 - bytes % 512;
    }
    [[nodiscard]] std::int64_t asked(std::int64_t bytes) const {
        const std::int64_t size = rounded(bytes);
        if (size <= kib(1024)) return kib(2048);
        if (size < kib(10240)) return settings_.large_segment_bytes;
        std::int64_t segment = kib(2048);
        while (segment < size) segment += kib(2048);
        return segment;
    }

private:
    allocator::AllocatorSettings settings_;
};

}  // namespace hpo::tests
