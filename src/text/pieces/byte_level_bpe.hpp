// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hpo/text/concept.hpp"
#include "hpo/text/pieces/vocabulary.hpp"

namespace hpo::text {

/// Remembers the ids of words, because texts repeat their words. It stops adding words when it is full.
/// Thread safety: several threads may call all members.
class WordCache {
public:
    /// Appends the ids of a known word. Returns false if the word is not known.
    [[nodiscard]] bool append(std::string_view word, std::vector<TokenId>& ids) const {
        if (word.size() > longest_word_bytes) return false;
        const std::shared_lock lock{state_->mutex};
        const auto found = state_->words.find(word);
        if (found == state_->words.end()) return false;
        ids.insert(ids.end(), found->second.begin(), found->second.end());
        return true;
    }
    void learn(std::string_view word, std::vector<TokenId> ids) const {
        if (word.size() > longest_word_bytes) return;
        const std::unique_lock lock{state_->mutex};
        if (state_->words.size() < most_words) state_->words.try_emplace(std::string{word}, std::move(ids));
    }

private:
    static constexpr std::size_t longest_word_bytes = 64;
    static constexpr std::size_t most_words = 1U << 16U;  // some 10 MB when full
    struct State {
        std::shared_mutex mutex;
        TextMap<std::vector<TokenId>> words;
    };
    std::unique_ptr<State> state_ = std::make_unique<State>();
};

/// Joins tokens by byte-pair encoding (Sennrich et al. 2016). As long as two neighbours have a rule, the rule of the lowest rank joins its
/// leftmost pair. O(n log n) in the number of tokens.
class PairMerges {
public:
    struct Pair {
        TokenId left;
        TokenId right;
    };
    /// Adds a rule. Its rank is the number of rules that were added before. If a pair has two rules, the later one counts.
    void add(Pair pair, TokenId joined) { rules_.insert_or_assign(key(pair), Rule{next_rank_++, joined}); }
    [[nodiscard]] std::size_t size() const noexcept { return rules_.size(); }

    void apply(std::vector<TokenId>& tokens) const;

private:
    static constexpr TokenId gone = -1;
    struct Rule {
        std::uint32_t rank;
        TokenId joined;
    };
    struct Candidate {
        std::uint32_t rank;
        std::size_t left;
        TokenId joined;
        [[nodiscard]] bool operator>(const Candidate& other) const noexcept {
            return rank != other.rank ? rank > other.rank : left > other.left;
        }
    };
    [[nodiscard]] static std::uint64_t key(Pair pair) noexcept {
        return std::uint64_t{static_cast<std::uint32_t>(pair.left)} << 32U | static_cast<std::uint32_t>(pair.right);
    }
    [[nodiscard]] const Rule* find(Pair pair) const {
        const auto found = rules_.find(key(pair));
        return found == rules_.end() ? nullptr : &found->second;
    }
    struct Spread {  // the standard hash of a number is the number itself
        [[nodiscard]] std::size_t operator()(std::uint64_t value) const noexcept {
            return (value ^ value >> 29U) * 0x9E3779B97F4A7C15U >> 7U;
        }
    };
    std::unordered_map<std::uint64_t, Rule, Spread> rules_;
    std::uint32_t next_rank_ = 0;
};

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
