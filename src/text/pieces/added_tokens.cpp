// SPDX-License-Identifier: MIT
#include "hpo/text/pieces/added_tokens.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/code_point.hpp"
#include "text/unicode.hpp"

namespace hpo::text {

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_{std::move(tokens)} {
    std::stable_sort(tokens_.begin(), tokens_.end(), [](const auto& a, const auto& b) { return a.content.size() > b.content.size(); });
    for (const AddedToken& token : tokens_) {
        if (!token.content.empty() && first_bytes_.find(token.content.front()) == std::string::npos) first_bytes_ += token.content.front();
    }
}

std::optional<AddedTokens::Match> AddedTokens::find(std::string_view text, std::size_t from) const {
    for (std::size_t at = text.find_first_of(first_bytes_, from); at != std::string_view::npos;
         at = text.find_first_of(first_bytes_, at + 1)) {
        for (const AddedToken& token : tokens_) {
            if (token.content.empty() || !text.substr(at).starts_with(token.content)) continue;
            using Absorbs = AddedToken::Absorbs;
            Match match{at, at + token.content.size(), token.id};
            if (token.absorbs == Absorbs::space_before || token.absorbs == Absorbs::both)
                match.begin = from + space_before(text.substr(from, at - from));
            if (token.absorbs == Absorbs::space_after || token.absorbs == Absorbs::both) match.end += leading_space(text.substr(match.end));
            return match;
        }
    }
    return std::nullopt;
}

std::size_t AddedTokens::leading_space(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
        const CodePoint point = decode(text, at);
        if (!is_white_space(point.value)) break;
        at += point.bytes;
    }
    return at;
}

std::size_t AddedTokens::space_before(std::string_view text) {
    std::size_t begin = text.size();
    for (std::size_t at = text.size(); at > 0;) {
        --at;
        if ((static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80) continue;  // inside a code point
        const CodePoint point = decode(text, at);
        if (!is_white_space(point.value) || at + point.bytes != begin) break;
        begin = at;
    }
    return begin;
}

}  // namespace hpo::text
