// SPDX-License-Identifier: MIT
#include "hpo/text/word_counts.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/text/pieces/added_tokens.hpp"
#include "text/code_point.hpp"
#include "text/pieces/bert_words.hpp"
#include "text/pieces/word_piece.hpp"

namespace hpo::text {

void WordCounts::add(std::string_view text) {
    BertWords{}.split(text, [this](std::string_view word) {
        const auto known = counts_.find(word);
        if (known == counts_.end()) {
            counts_.emplace(word, 1);
        } else {
            ++known->second;
        }
        return true;
    });
}

Tokenizer WordCounts::tokenizer(std::size_t size) const {
    std::vector<std::string> tokens{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    if (size <= tokens.size()) throw bad_value("vocabulary", std::to_string(size), std::to_string(tokens.size() + 1) + " or more tokens");
    Counts characters;
    for (const auto& [word, count] : counts_) {
        for (std::size_t at = 0; at < word.size();) {
            const std::size_t bytes = decode(word, at).bytes;
            characters[word.substr(at, bytes)] += count;
            at += bytes;
        }
    }
    Counts words = counts_;
    for (const std::string& character : most_frequent(characters)) {
        if (tokens.size() + 2 > size / 2) break;
        tokens.push_back(character);
        tokens.push_back("##" + character);
        words.erase(character);
    }
    for (std::string& word : most_frequent(words)) {
        if (tokens.size() == size) break;
        tokens.push_back(std::move(word));
    }
    const SpecialTokens special{.first = 2, .last = 3, .pad = 0, .unknown = 1};
    std::vector<AddedToken> added;  // a text may contain them, as with a published vocabulary
    for (TokenId id = 0; id < 5; ++id) added.push_back({.content = tokens[static_cast<std::size_t>(id)], .id = id});
    return {WordPiece{Vocabulary{std::move(tokens)}, {}}, special, std::move(added)};
}

std::vector<std::string> WordCounts::most_frequent(const Counts& counts) {
    std::vector<std::pair<std::int64_t, std::string_view>> order;
    order.reserve(counts.size());
    for (const auto& [text, count] : counts) order.emplace_back(-count, text);
    std::sort(order.begin(), order.end());
    std::vector<std::string> texts;
    for (const auto& [count, text] : order) texts.emplace_back(text);
    return texts;
}

}  // namespace hpo::text
