// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace hpo {

/// How deep the lists and objects of a JSON text are nested. The JSON library copies and writes each level with a stack frame, so whoever
/// reads foreign text asks this first. Of text that is not JSON it counts the brackets outside of quotes.
[[nodiscard]] constexpr int nesting_depth(std::string_view text) noexcept {
    int depth = 0;
    int deepest = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quoted) {
            if (c == '\\') ++i;
            else if (c == '"') quoted = false;
        } else if (c == '"') {
            quoted = true;
        } else if (c == '[' || c == '{') {
            deepest = std::max(deepest, ++depth);
        } else if (c == ']' || c == '}') {
            --depth;
        }
    }
    return deepest;
}

}  // namespace hpo
