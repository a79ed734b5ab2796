// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "text/code_point.hpp"
#include "text/unicode.hpp"

namespace hpo::text::detail {

enum class Glyph : std::uint8_t { space, letter, number, other };

[[nodiscard]] inline Glyph glyph(char32_t c) noexcept {
    if (c < 0x80) {
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return Glyph::letter;
        if (c >= '0' && c <= '9') return Glyph::number;
        return is_white_space(c) ? Glyph::space : Glyph::other;
    }
    if (is_letter(c)) return Glyph::letter;
    if (is_number(c)) return Glyph::number;
    return is_white_space(c) ? Glyph::space : Glyph::other;
}

/// The length of the end of an English contraction, such as "'ll", at the start of a text. 0 if there is none.
[[nodiscard]] constexpr std::size_t contraction(std::string_view text) noexcept {
    for (const std::string_view tail : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
        if (text.starts_with(tail)) return tail.size();
    }
    return 0;
}

}  // namespace hpo::text::detail

namespace hpo::text {

/// Splits a text as GPT-2 does before it merges bytes (Radford et al. 2019). No byte is lost. The parts are contractions, runs of letters,
/// of numbers or of other signs, and white space. A run takes one space before it, so white space leaves its last space to the next run.
/// Calls `take(std::string_view)` for each part until it returns false.
template <class Take>
void split_byte_level(std::string_view text, Take&& take) {
    using detail::Glyph;
    // The end of the run of `kind` that begins at `at`. `last` is where its last character begins.
    struct Run {
        std::size_t end;
        std::size_t last;
    };
    const auto run_of = [&](Glyph kind, std::size_t at) {
        Run run{at, at};
        while (run.end < text.size()) {
            const CodePoint point = decode(text, run.end);
            if (detail::glyph(point.value) != kind) break;
            run.last = run.end;
            run.end += point.bytes;
        }
        return run;
    };
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at + detail::contraction(text.substr(at));
        if (end == at) {
            const std::size_t start = text[at] == ' ' && at + 1 < text.size() ? at + 1 : at;
            Glyph kind = detail::glyph(decode(text, start).value);
            if (kind != Glyph::space) {
                end = run_of(kind, start).end;
            } else {
                const Run spaces = run_of(Glyph::space, at);
                end = spaces.end == text.size() || spaces.last == at ? spaces.end : spaces.last;
            }
        }
        if (!take(text.substr(at, end - at))) return;
        at = end;
    }
}

}  // namespace hpo::text
