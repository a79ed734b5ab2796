// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/text/concept.hpp"
#include "hpo/text/pieces/added_tokens.hpp"

namespace hpo::text {

/// The ids that frame and fill a model's input.
struct SpecialTokens {
    TokenId first = 0;  ///< [CLS], <s>
    TokenId last = 0;   ///< [SEP], </s>
    TokenId pad = 0;
    TokenId unknown = 0;
};

/// Turns texts into a model's input ids: the first special token, the ids of the text's subwords, and the last special token.
/// Thread safety: several threads may call all members. Copies share one vocabulary.
class Tokenizer {
public:
    static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();
    static constexpr std::size_t frame = 2;  ///< how many ids are not the text's own: the first and the last

    template <Subwords S>
    Tokenizer(S subwords, SpecialTokens special, std::vector<AddedToken> added)
        : subwords_{std::make_shared<Model<S>>(std::move(subwords))}, special_{special}, added_{std::move(added)} {
        size_ = subwords_->vocabulary().size();
        for (const AddedToken& token : added_.tokens()) size_ = std::max(size_, static_cast<std::size_t>(token.id) + 1);
    }

    /// Returns at most `max_length` ids, the first and the last included. The end of a longer text is cut off, and mostly not even read.
    /// Throws Error if `max_length` is below 2.
    [[nodiscard]] std::vector<TokenId> encode(std::string_view text, std::size_t max_length = unlimited) const {
        if (max_length < frame) throw bad_value("max_length", std::to_string(max_length), "2 or more, for the tokens around a text");
        const std::size_t most = max_length - 1;  // all but the last
        std::vector<TokenId> ids{special_.first};
        for (std::size_t at = 0; at < text.size() && ids.size() < most;) {
            const auto match = added_.find(text, at);
            const std::size_t end = match ? match->begin : text.size();
            if (end > at) subwords_->append(text.substr(at, end - at), ids, most);
            if (match) ids.push_back(match->id);
            at = match ? match->end : end;
        }
        if (ids.size() > most) ids.resize(most);
        ids.push_back(special_.last);
        return ids;
    }

    /// The number of ids. Every id is below it.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] const SpecialTokens& special() const noexcept { return special_; }
    /// The text of an id in the model's files.
    [[nodiscard]] const std::string& token(TokenId id) const {
        for (const AddedToken& token : added_.tokens()) {
            if (token.id == id) return token.content;
        }
        return subwords_->vocabulary().token(id);
    }

private:
    struct Interface {
        virtual ~Interface() = default;
        virtual void append(std::string_view text, std::vector<TokenId>& ids, std::size_t most) const = 0;
        [[nodiscard]] virtual const Vocabulary& vocabulary() const = 0;
    };
    template <class S>
    struct Model final : Interface {
        explicit Model(S inner) : subwords{std::move(inner)} {}
        void append(std::string_view text, std::vector<TokenId>& ids, std::size_t most) const override { subwords.append(text, ids, most); }
        [[nodiscard]] const Vocabulary& vocabulary() const override { return subwords.vocabulary(); }
        S subwords;
    };

    std::shared_ptr<const Interface> subwords_;
    SpecialTokens special_;
    AddedTokens added_;
    std::size_t size_ = 0;
};

}  // namespace hpo::text
