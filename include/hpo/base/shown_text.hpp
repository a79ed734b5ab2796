// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "hpo/base/utf8.hpp"

namespace hpo {

/// Text from a file or a user in a form that fits one line of a message on any terminal. The result is well-formed UTF-8 and stops after
/// about `most_bytes` bytes. Control characters are written as in JSON. A byte that is not UTF-8 becomes a backslash, x and two hexadecimal
/// digits.
[[nodiscard]] inline std::string shown(std::string_view text, std::size_t most_bytes = 60) {
    static constexpr std::string_view hex = "0123456789abcdef";
    std::string line;
    for (std::size_t at = 0; at < text.size();) {
        if (at >= most_bytes) return line + "...";
        const std::size_t length = utf8_length(text, at);
        const auto byte = static_cast<unsigned char>(text[at]);
        const bool high_control = length == 2 && byte == 0xC2 && static_cast<unsigned char>(text[at + 1]) < 0xA0;  // U+0080 to U+009F
        const unsigned code = high_control ? static_cast<unsigned char>(text[at + 1]) : byte;
        if (length == 0) (line += "\\x") += {hex[code >> 4U], hex[code & 15U]};
        else if (code == '"' || code == '\\') (line += '\\') += text[at];
        else if (code == '\n') line += "\\n";
        else if (code == '\r') line += "\\r";
        else if (code == '\t') line += "\\t";
        else if (code < 0x20 || code == 0x7F || high_control) (line += "\\u00") += {hex[code >> 4U], hex[code & 15U]};
        else line += text.substr(at, length);
        at += length == 0 ? 1 : length;
    }
    return line;
}

}  // namespace hpo
