// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "hpo/core/memory_reading.hpp"

namespace hpo::worker {

/// What this process holds of the host's memory for itself, without files and shared memory, in bytes; nothing: not known.
[[nodiscard]] std::optional<std::int64_t> own_host_bytes();

/// Finds out whether a process keeps more of the host's memory after its attempts. Data that are read once, and caches that fill up, are
/// no such growth. Two things are: several attempts in a row each left much more. Or the highest level rose again and again, however
/// slowly, until it stood far above that after the first attempt.
///
/// Thread safety: none; the thread of the attempts.
class HostGrowth {
public:
    static constexpr std::int64_t least_of_an_attempt = 32 << 20;
    static constexpr std::int64_t least_in_all = 384 << 20;
    static constexpr int attempts_in_a_row = 4;
    static constexpr std::int64_t most_in_all = std::int64_t{1} << 30;  ///< what slow growth may come to
    static constexpr int most_heights = 8;                              ///< so often a level that is steady but for chance seldom rises

    /// After an attempt, with what the process holds: how much it has grown by where that is too much, and its worker is to be replaced.
    /// What the first attempt leaves is where the growth begins.
    [[nodiscard]] std::optional<std::int64_t> see(std::int64_t held_bytes);
    /// The same, as a mark of name host_growth_mark, for this process. What the C library holds back for itself is given back first.
    [[nodiscard]] std::optional<MemoryMark> see_this_process(double seconds);

private:
    [[nodiscard]] bool is_new_height(std::int64_t held_bytes) const { return held_bytes - highest_ >= least_of_an_attempt; }

    std::int64_t first_ = 0;    ///< after the first attempt
    std::int64_t highest_ = 0;  ///< counted so far; what is little above it is no new height
    int heights_ = 0;
    std::optional<std::int64_t> last_;
    std::int64_t before_ = 0;
    int in_a_row_ = 0;
};

}  // namespace hpo::worker

#ifndef HPO_COMPILED
#include "hpo/worker/impl/host_growth_inl.hpp"
#endif
