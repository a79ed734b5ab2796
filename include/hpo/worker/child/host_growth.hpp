// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "hpo/core/memory_reading.hpp"

namespace hpo::worker {

/// The host memory of this process in bytes, without files and shared memory. Returns nullopt if it is not known.
[[nodiscard]] std::optional<std::int64_t> own_host_bytes();

/// Finds out whether a process keeps more and more host memory after its attempts. Data that is read once and caches that fill up do not
/// count. There are two signs of growth. Either several attempts in a row each left much more. Or the highest level rose again and again
/// until it was far above the level after the first attempt.
///
/// Thread safety: none. Only the thread of the attempts calls it.
class HostGrowth {
public:
    static constexpr std::int64_t least_of_an_attempt = 32 << 20;
    static constexpr std::int64_t least_in_all = 384 << 20;
    static constexpr int attempts_in_a_row = 4;
    static constexpr std::int64_t most_in_all = std::int64_t{1} << 30;  ///< how far slow growth may go
    static constexpr int most_heights = 8;                              ///< a level that only varies by chance seldom rises so often

    /// Call it after each attempt with what the process holds. Returns the growth if it is too much and the worker has to be replaced, else
    /// nullopt. Growth is counted from the level after the first attempt.
    [[nodiscard]] std::optional<std::int64_t> see(std::int64_t held_bytes);
    /// The same for this process, as a mark named host_growth_mark. First it makes the C library give back its unused memory.
    [[nodiscard]] std::optional<MemoryMark> see_this_process(double seconds);

private:
    [[nodiscard]] bool is_new_height(std::int64_t held_bytes) const { return held_bytes - highest_ >= least_of_an_attempt; }

    std::int64_t first_ = 0;    ///< level after the first attempt
    std::int64_t highest_ = 0;  ///< highest level so far; a level only slightly above it does not count as higher
    int heights_ = 0;
    std::optional<std::int64_t> last_;
    std::int64_t before_ = 0;
    int in_a_row_ = 0;
};

}  // namespace hpo::worker
