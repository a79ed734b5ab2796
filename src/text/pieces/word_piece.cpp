// SPDX-License-Identifier: MIT
#include "text/pieces/word_piece.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/base/shown_text.hpp"

namespace hpo::text {

WordPiece::WordPiece(Vocabulary vocabulary, const Config& config, const std::string& place)
    : vocabulary_{std::move(vocabulary)}, words_{config.words}, longest_word_{config.longest_word} {
    const auto unknown = vocabulary_.find(config.unknown);
    if (!unknown) throw Error{Errc::bad_value, place + ": lacks the unknown token '" + shown(config.unknown) + "'"};
    unknown_ = *unknown;
    for (const std::string& token : vocabulary_.tokens()) {
        const TokenId id = *vocabulary_.find(token);
        if (token.starts_with("##")) inside_.insert_or_assign(token.substr(2), id);
        longest_piece_ = std::max(longest_piece_, token.size());
    }
}

void WordPiece::append(std::string_view text, std::vector<TokenId>& ids, std::size_t most) const {
    words_.split(text, [&](std::string_view word) {
        append_word(word, ids);
        return ids.size() < most;
    });
}

void WordPiece::append_word(std::string_view word, std::vector<TokenId>& ids) const {
    const std::size_t before = ids.size();
    const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80; };
    const auto characters = static_cast<std::size_t>(std::count_if(word.begin(), word.end(), [&](char c) { return !continues(c); }));
    while (!word.empty() && characters <= longest_word_) {
        const bool first = ids.size() == before;
        std::size_t length = std::min(word.size(), longest_piece_);
        std::optional<TokenId> id;
        for (; length > 0; --length) {
            if (length < word.size() && continues(word[length])) continue;
            id = first ? vocabulary_.find(word.substr(0, length)) : find_inside(word.substr(0, length));
            if (id) break;
        }
        if (!id) break;
        ids.push_back(*id);
        word.remove_prefix(length);
    }
    if (word.empty()) return;
    ids.resize(before);
    ids.push_back(unknown_);
}

std::optional<TokenId> WordPiece::find_inside(std::string_view piece) const {
    const auto found = inside_.find(piece);
    if (found == inside_.end()) return std::nullopt;
    return found->second;
}

}  // namespace hpo::text
