// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <string_view>
#include <vector>

#include "hpo/text/pieces/vocabulary.hpp"

namespace hpo::text {

/// Cuts plain text into ids of a vocabulary. It does not know special tokens.
/// `append(text, ids, most)` adds the ids of a text. It may stop as soon as `ids` has `most` elements or more. Any bytes are allowed: bytes
/// that are not UTF-8 give some ids and never an error. It is deterministic, and several threads may call it.
template <class S>
concept Subwords = std::move_constructible<S> && requires(const S& s, std::string_view text, std::vector<TokenId>& ids, std::size_t most) {
    { s.append(text, ids, most) } -> std::same_as<void>;
    { s.vocabulary() } -> std::same_as<const Vocabulary&>;
};

}  // namespace hpo::text
