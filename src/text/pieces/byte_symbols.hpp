// SPDX-License-Identifier: MIT
#pragma once

#include <array>

namespace hpo::text {

/// The visible character for each byte in GPT-2's files. A byte that prints in Latin-1 is written as itself. The others are U+0100 and
/// following, in their order.
[[nodiscard]] constexpr std::array<char32_t, 256> byte_symbols() noexcept {
    std::array<char32_t, 256> symbols{};
    char32_t next = 0x100;
    for (char32_t byte = 0; byte < symbols.size(); ++byte) {
        const bool prints = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
        symbols[byte] = prints ? byte : next++;
    }
    return symbols;
}

}  // namespace hpo::text
