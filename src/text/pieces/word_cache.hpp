// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace hpo::text
