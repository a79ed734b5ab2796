// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hpo::virtual_card {

/// What a program may ask of a card. Memory in bytes.
struct Card {
    std::string name = "virtual card";
    int capability = 80;  ///< 10 * major + minor
    int multiprocessors = 108;
    std::int64_t memory_bytes = 0;   ///< as the CUDA runtime reports it
    std::int64_t context_bytes = 0;  ///< what a process takes before its first allocation
    int count = 0;                   ///< so many equal cards; 0: none

    // Facts of the architecture, by capability.
    [[nodiscard]] int shared_per_multiprocessor() const;  ///< bytes
    [[nodiscard]] int threads_per_multiprocessor() const;
    [[nodiscard]] int blocks_per_multiprocessor() const;
};

/// How the process wants its card.
struct Wanted {
    Card card;
    std::string state;   ///< file in which the processes on one card count what they take; empty: this process is alone
    std::string report;  ///< file to which facts about the run are appended; empty: none
    bool quiet = false;  ///< without the line that says that the card is virtual
};

/// Which of `count` cards a process sees, in its order: CUDA_VISIBLE_DEVICES, up to the first entry that is no number of a card. Without
/// the variable it sees all of them.
[[nodiscard]] std::vector<int> visible_cards(int count);

/// Reads HPO_VIRTUAL_CARD: "name=NVIDIA A100;capability=80;multiprocessors=108;memory=85094825984;context=520093696;count=1;state=PATH".
/// Without it there is no card. A mistake in it ends the process with status 2 and one line.
[[nodiscard]] const Wanted& wanted();

}  // namespace hpo::virtual_card
