// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

#ifndef HPO_COMPILED
#include "hpo/text/impl/byte_level_bpe_inl.hpp"
#endif
