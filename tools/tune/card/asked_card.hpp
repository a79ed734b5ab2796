// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hpo::tune {

/// A virtual card that a person asked for. Memory in bytes.
struct AskedCard {
    std::string name;
    int capability = 80;
    int multiprocessors = 108;
    std::int64_t bytes = 0;
    std::int64_t context_bytes = 0;
    std::string context_from;  ///< where that figure is from, for people
    int count = 1;             ///< so many equal ones

    /// As HPO_VIRTUAL_CARD has it. `files`: further keys, such as "state=PATH".
    [[nodiscard]] std::string text(const std::vector<std::string>& files) const;
};

/// How people ask for a card.
struct CardWords {
    std::string card;              ///< a name that is known, or a size; empty: the usual card
    std::string context;           ///< a size; empty: what others saw on the card, or a guess
    std::string part;              ///< a size: so much of the card's memory; empty: all of it
    std::string place = "--card";  ///< of the card's words, for messages
    bool is_size = false;          ///< `card` is a size, and no name
};

/// The name is understood as people write it: RTX-4090, rtx4090 and 4090 are one card. Of two that differ in their memory alone, it is
/// the one with less, and a note says so on standard error. Throws Error for a card that is not known, for a text that is no size, and for
/// a context that is larger than the card.
[[nodiscard]] AskedCard asked_card(const CardWords& words);

}  // namespace hpo::tune
