// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

namespace hpo {

/// Where the first comma is that stands in no brackets: of "wait(30min,10s),x" the second. Brackets that are not closed are none. npos if
/// there is no such comma.
[[nodiscard]] constexpr std::size_t comma_outside_brackets(std::string_view text) noexcept {
    for (auto comma = text.find(',');; comma = text.find(',', comma + 1)) {
        if (comma == std::string_view::npos) return comma;
        const auto open = text.substr(0, comma).rfind('(');
        const auto close = open == std::string_view::npos ? open : text.find(')', open);
        if (close == std::string_view::npos || close < comma) return comma;
    }
}

}  // namespace hpo
