// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace hpo {

/// The beginning of UTF-8 text, at most so many bytes of it. No character is cut.
[[nodiscard]] constexpr std::string_view whole_characters(std::string_view text, std::size_t most_bytes) noexcept {
    std::size_t end = std::min(text.size(), most_bytes);
    while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
    return text.substr(0, end);
}

}  // namespace hpo
