// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/text/pieces/vocabulary.hpp"

namespace hpo::text {

/// A token that a text may contain literally, such as "[MASK]". It is found before the rest of the text is cut.
struct AddedToken {
    enum class Absorbs : std::uint8_t { nothing, space_before, space_after, both };
    std::string content;
    TokenId id = 0;
    Absorbs absorbs = Absorbs::nothing;
};

/// Finds added tokens in texts, from left to right. If several begin at the same place, it takes the longest.
class AddedTokens {
public:
    /// Where an added token is in a text, with the white space that it absorbs.
    struct Match {
        std::size_t begin;
        std::size_t end;
        TokenId id;
    };

    explicit AddedTokens(std::vector<AddedToken> tokens = {});

    [[nodiscard]] std::optional<Match> find(std::string_view text, std::size_t from) const;
    [[nodiscard]] const std::vector<AddedToken>& tokens() const noexcept { return tokens_; }

private:
    [[nodiscard]] static std::size_t leading_space(std::string_view text);
    /// The position where the white space at a text's end begins.
    [[nodiscard]] static std::size_t space_before(std::string_view text);

    std::vector<AddedToken> tokens_;
    std::string first_bytes_;
};

}  // namespace hpo::text
