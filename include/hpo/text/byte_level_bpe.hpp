// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/core/error.hpp"
#include "hpo/core/shown_text.hpp"
#include "hpo/text/byte_level_words.hpp"
#include "hpo/text/byte_symbols.hpp"
#include "hpo/text/code_point.hpp"
#include "hpo/text/concept.hpp"
#include "hpo/text/pair_merges.hpp"
#include "hpo/text/vocabulary.hpp"
#include "hpo/text/word_cache.hpp"

namespace hpo::text {

/// RoBERTa's and GPT-2's tokens: a word is its bytes, of which pairs are joined by ranked rules. No text is unknown.
class ByteLevelBpe {
public:
    /// Whether a text gets a space at its front when it has none, so that its first word is written like the others.
    enum class FirstWord : bool { as_it_is, after_a_space };
    using Merge = std::pair<std::string, std::string>;

    /// Vocabulary and merges are written in byte symbols. Throws Error naming the place when the vocabulary lacks a byte, or a part or
    /// the result of a merge.
    ByteLevelBpe(Vocabulary vocabulary, const std::vector<Merge>& merges, FirstWord first_word, const std::string& place = "vocabulary")
        : vocabulary_{std::move(vocabulary)}, first_word_{first_word} {
        constexpr auto symbols = byte_symbols();
        const auto id_of = [&](const std::string& token, const std::string& what) {
            const auto id = vocabulary_.find(token);
            if (!id) throw Error{Errc::bad_value, place + ": lacks '" + shown(token) + "', " + what};
            return *id;
        };
        for (std::size_t byte = 0; byte < bytes_.size(); ++byte) {
            std::string symbol;
            append_utf8(symbol, symbols[byte]);
            bytes_[byte] = id_of(symbol, "the symbol of byte " + std::to_string(byte));
        }
        for (std::size_t i = 0; i < merges.size(); ++i) {
            const auto& [left, right] = merges[i];
            const std::string what = "which merge " + std::to_string(i + 1) + " ('" + shown(left) + " " + shown(right) + "') needs";
            merges_.add({id_of(left, what), id_of(right, what)}, id_of(left + right, what));
        }
    }

    void append(std::string_view text, std::vector<TokenId>& ids, std::size_t most) const {
        std::string spaced;
        if (first_word_ == FirstWord::after_a_space && !text.empty() && text.front() != ' ') text = spaced = " " + std::string{text};
        split_byte_level(text, [&](std::string_view part) {
            append_word(part, ids);
            return ids.size() < most;
        });
    }
    [[nodiscard]] const Vocabulary& vocabulary() const noexcept { return vocabulary_; }

private:
    void append_word(std::string_view word, std::vector<TokenId>& ids) const {
        if (cache_.append(word, ids)) return;
        std::vector<TokenId> tokens;
        tokens.reserve(word.size());
        for (const char byte : word) tokens.push_back(bytes_[static_cast<unsigned char>(byte)]);
        merges_.apply(tokens);
        ids.insert(ids.end(), tokens.begin(), tokens.end());
        cache_.learn(word, std::move(tokens));
    }

    Vocabulary vocabulary_;
    PairMerges merges_;
    std::array<TokenId, 256> bytes_{};
    FirstWord first_word_;
    WordCache cache_;
};

static_assert(Subwords<ByteLevelBpe>);

}  // namespace hpo::text
