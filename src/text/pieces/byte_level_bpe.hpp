// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/text/concept.hpp"
#include "hpo/text/pieces/vocabulary.hpp"
#include "text/pieces/pair_merges.hpp"
#include "text/pieces/word_cache.hpp"

namespace hpo::text {

/// The tokens of RoBERTa and GPT-2. A word is a list of bytes, and ranked rules join pairs of them. No text is unknown.
class ByteLevelBpe {
public:
    /// Whether a text gets a space at its front if it has none, so that its first word is treated like the other words.
    enum class FirstWord : bool { as_it_is, after_a_space };
    using Merge = std::pair<std::string, std::string>;

    /// Vocabulary and merges are written in byte symbols. Throws Error that names the place if the vocabulary lacks a byte, a part of a
    /// merge, or the result of a merge.
    ByteLevelBpe(Vocabulary vocabulary, const std::vector<Merge>& merges, FirstWord first_word, const std::string& place = "vocabulary");

    void append(std::string_view text, std::vector<TokenId>& ids, std::size_t most) const;
    [[nodiscard]] const Vocabulary& vocabulary() const noexcept { return vocabulary_; }

private:
    void append_word(std::string_view word, std::vector<TokenId>& ids) const;

    Vocabulary vocabulary_;
    PairMerges merges_;
    std::array<TokenId, 256> bytes_{};
    FirstWord first_word_;
    WordCache cache_;
};

static_assert(Subwords<ByteLevelBpe>);

}  // namespace hpo::text
