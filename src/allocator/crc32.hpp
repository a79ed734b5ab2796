// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hpo::allocator {

/// CRC-32 of bytes as zlib, Ethernet and PNG compute it (reflected polynomial 0xEDB88320). It detects every change within 32 consecutive
/// bits, and so every change of a single bit.
[[nodiscard]] constexpr std::uint32_t crc32(std::string_view bytes) {
    constexpr auto table = [] {
        std::array<std::uint32_t, 256> entries{};
        for (std::uint32_t i = 0; i < 256; ++i) {
            std::uint32_t value = i;
            for (int bit = 0; bit < 8; ++bit) value = (value >> 1U) ^ ((value & 1U) != 0 ? 0xEDB88320U : 0U);
            entries[i] = value;
        }
        return entries;
    }();
    std::uint32_t state = 0xFFFFFFFFU;
    for (const char each : bytes) state = table[(state ^ static_cast<unsigned char>(each)) & 0xFFU] ^ (state >> 8U);
    return ~state;
}

static_assert(crc32("123456789") == 0xCBF43926U);

}  // namespace hpo::allocator
