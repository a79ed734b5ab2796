// SPDX-License-Identifier: MIT
#pragma once

#include <malloc.h>

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>

#include "hpo/core/memory_leak.hpp"

namespace hpo::worker {

/// What this process holds of the host's memory for itself, without files and shared memory, in bytes; nothing: not known.
[[nodiscard]] inline std::optional<std::int64_t> own_host_bytes() {
    std::ifstream status{"/proc/self/status"};
    for (std::string word; status >> word;) {
        std::int64_t kibibytes = 0;
        if (word == "RssAnon:" && status >> kibibytes) return kibibytes * 1024;
    }
    return std::nullopt;
}

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
    [[nodiscard]] std::optional<std::int64_t> see(std::int64_t held_bytes) {
        if (!last_) first_ = highest_ = held_bytes;
        const bool grew = last_ && held_bytes - *last_ >= least_of_an_attempt;
        if (!grew) before_ = held_bytes;
        in_a_row_ = grew ? in_a_row_ + 1 : 0;
        last_ = held_bytes;
        if (is_new_height(held_bytes)) {
            highest_ = held_bytes;
            ++heights_;
        }
        if (in_a_row_ >= attempts_in_a_row && held_bytes - before_ >= least_in_all) return held_bytes - before_;
        if (heights_ >= most_heights && held_bytes - first_ >= most_in_all) return held_bytes - first_;
        return std::nullopt;
    }
    /// The same, as a mark of name host_growth_mark, for this process. What the C library holds back for itself is given back first.
    [[nodiscard]] std::optional<MemoryMark> see_this_process(double seconds) {
        auto held = own_host_bytes();
        if (held && last_ && (*held - *last_ >= least_of_an_attempt || is_new_height(*held))) {
            ::malloc_trim(0);
            held = own_host_bytes();
        }
        const auto growth = held ? see(*held) : std::nullopt;
        if (!growth) return std::nullopt;
        MemoryMark mark{std::string{host_growth_mark}, seconds, std::nullopt, {}};
        mark.reading.allocated = growth;
        return mark;
    }

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
