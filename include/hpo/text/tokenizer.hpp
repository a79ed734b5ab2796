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

#include "hpo/core/error.hpp"
#include "hpo/text/added_tokens.hpp"
#include "hpo/text/concept.hpp"

namespace hpo::text {

/// The ids that frame and fill a model's input.
struct SpecialTokens {
    TokenId first = 0;  ///< [CLS], <s>
    TokenId last = 0;   ///< [SEP], </s>
    TokenId pad = 0;
    TokenId unknown = 0;
};

/// Texts to a model's input ids, with whatever subwords the model has: first, the text's ids, last.
/// Thread safety: all members may be called from several threads. Copies share one vocabulary.
class Tokenizer {
public:
    static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();
    static constexpr std::size_t frame = 2;  ///< ids besides the text's own

    template <Subwords S>
    Tokenizer(S subwords, SpecialTokens special, std::vector<AddedToken> added)
        : subwords_{std::make_shared<Model<S>>(std::move(subwords))}, special_{special}, added_{std::move(added)} {
        size_ = subwords_->vocabulary().size();
        for (const AddedToken& token : added_.tokens()) size_ = std::max(size_, static_cast<std::size_t>(token.id) + 1);
    }

    /// At most `max_length` ids, the frame included: what is too much of the text is cut off at its end, and not looked at for long.
    /// Throws Error when `max_length` has no room for the frame.
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

    /// Every id is below it.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] const SpecialTokens& special() const noexcept { return special_; }
    /// How an id is written in the model's files.
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
