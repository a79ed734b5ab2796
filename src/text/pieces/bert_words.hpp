// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "text/code_point.hpp"
#include "text/unicode.hpp"

namespace hpo::text {

/// How BERT cleans a text. The names are those of tokenizer_config.json.
struct BertWordOptions {
    enum class Case : bool { keep, lower };
    enum class Accents : bool { keep, strip };
    enum class Chinese : bool { in_words, one_by_one };
    Case letter_case = Case::lower;
    Accents accents = Accents::strip;
    Chinese chinese = Chinese::one_by_one;
};

/// Splits a text as BERT does before it looks for pieces (Devlin et al. 2019). Control characters vanish, and white space separates words.
/// Chinese characters and punctuation are words of their own. Letters lose accents and case.
class BertWords {
public:
    explicit BertWords(BertWordOptions options = {}) : options_{options} {}

    /// Calls `take(std::string_view)` for each word until it returns false.
    template <class Take>
    void split(std::string_view text, Take&& take) const {
        std::u32string run;  // the characters between two separators
        bool wanted = true;
        const auto end_run = [&] {
            if (!run.empty()) wanted = split_run(run, take);
            run.clear();
        };
        for (std::size_t at = 0; at < text.size() && wanted;) {
            const CodePoint point = decode(text, at);
            at += point.bytes;
            const char32_t c = point.value;
            if (c == '\t' || c == '\n' || c == '\r' || c == ' ') {
                end_run();
            } else if (c == replacement_character || is_control(c)) {
                continue;
            } else if (c >= 0x80 && is_white_space(c)) {
                end_run();
            } else if (options_.chinese == BertWordOptions::Chinese::one_by_one && is_chinese(c)) {
                end_run();
                if (!wanted) return;
                run += c;
                end_run();
            } else {
                run += c;
            }
        }
        if (wanted) end_run();
    }

private:
    /// True for characters of the blocks that BERT counts as Chinese. Hangul and kana stay in words.
    [[nodiscard]] static bool is_chinese(char32_t c) {
        return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
               (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B820 && c <= 0x2CEAF) ||
               (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
    }
    [[nodiscard]] static bool stands_alone(char32_t c) {
        if (c < 0x80) return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
        return is_punctuation(c);
    }

    template <class Take>
    bool split_run(std::u32string& run, Take& take) const {
        const bool ascii = std::all_of(run.begin(), run.end(), [](char32_t c) { return c < 0x80; });
        if (!ascii && options_.accents == BertWordOptions::Accents::strip) {
            run = decomposed(run);
            std::erase_if(run, is_nonspacing_mark);
        }
        if (options_.letter_case == BertWordOptions::Case::lower) {
            std::u32string lower;
            for (const char32_t c : run) append_lower(lower, c);
            run = std::move(lower);
        }
        std::string word;
        const auto end_word = [&] {
            const bool wanted = word.empty() || take(std::string_view{word});
            word.clear();
            return wanted;
        };
        for (const char32_t c : run) {
            const bool alone = stands_alone(c);
            if (alone && !end_word()) return false;
            append_utf8(word, c);
            if (alone && !end_word()) return false;
        }
        return end_word();
    }

    BertWordOptions options_;
};

}  // namespace hpo::text
