// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <string_view>
#include <vector>

#include "hpo/text/vocabulary.hpp"

namespace hpo::text {

/// Cuts plain text into ids of a vocabulary; knows nothing of special tokens.
/// `append(text, ids, most)` adds the ids of a text and may stop as soon as `ids` has `most` elements or more. Any bytes are
/// a text: what is no UTF-8 gives some ids, never an error. It is deterministic and may be called from several threads.
template <class S>
concept Subwords = std::move_constructible<S> && requires(const S& s, std::string_view text, std::vector<TokenId>& ids, std::size_t most) {
    { s.append(text, ids, most) } -> std::same_as<void>;
    { s.vocabulary() } -> std::same_as<const Vocabulary&>;
};

}  // namespace hpo::text
