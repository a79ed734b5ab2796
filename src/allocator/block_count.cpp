// SPDX-License-Identifier: MIT

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "hpo/allocator/trace_alignment.hpp"
#include "hpo/allocator/trace_law.hpp"

namespace hpo::allocator {
namespace law_detail {

/// By how large a share the counts differ at most from the straight line that fits best. Infinity if it does not rise.
[[nodiscard]] inline double off_line(const std::vector<double>& x, const std::vector<double>& counts) {
    const auto n = static_cast<double>(x.size());
    const double mean_x = std::accumulate(x.begin(), x.end(), 0.0) / n;
    const double mean = std::accumulate(counts.begin(), counts.end(), 0.0) / n;
    double xx = 0;
    double xy = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        xx += (x[i] - mean_x) * (x[i] - mean_x);
        xy += (x[i] - mean_x) * (counts[i] - mean);
    }
    if (!(xx > 0 && xy > 0)) return std::numeric_limits<double>::infinity();
    double most = 0;
    for (std::size_t i = 0; i < x.size(); ++i) most = std::max(most, std::abs(mean + xy / xx * (x[i] - mean_x) - counts[i]) / counts[i]);
    return most;
}

}  // namespace law_detail

std::optional<std::size_t> TraceLaw::number_of_blocks_by() const {
    constexpr double same = 0.1;  // kernels take some blocks only above some size
    constexpr double close = 0.04;
    constexpr std::size_t least = 3;
    std::vector<double> counts;
    for (const Recorded& each : recordings_) counts.push_back(static_cast<double>(std::ranges::count(staged_blocks(each.trace), false)));
    if (counts.size() < least || std::ranges::max(counts) <= (1 + same) * std::max(1.0, std::ranges::min(counts))) return std::nullopt;
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < recordings_.front().numbers.size(); ++i) {
        std::vector<double> x;
        for (const Recorded& each : recordings_) x.push_back(each.numbers[i]);
        if (law_detail::off_line(x, counts) <= close) found.push_back(i);
    }
    return found.size() == 1 ? std::optional{found.front()} : std::nullopt;
}

}  // namespace hpo::allocator
