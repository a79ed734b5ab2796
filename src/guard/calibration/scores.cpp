// SPDX-License-Identifier: MIT
#include "hpo/guard/calibration/scores.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

namespace hpo::guard {

void ResidualScores::add(const Score& score) {
    if (scores_.size() < window) scores_.push_back(score);
    else scores_[next_] = score;
    next_ = (next_ + 1) % window;
}

bool ResidualScores::misfit() const {
    if (scores_.size() < 24) return false;
    const auto count = static_cast<double>(scores_.size());
    for (std::size_t level = 0; level < levels.size(); ++level) {
        double above = 0;
        for (const Score& score : scores_) above += score.above[level];
        const double p = levels[level];
        if (std::fabs(above - count * (1 - p)) > 1 + 3.5 * std::sqrt(count * p * (1 - p))) return true;
    }
    return false;
}

std::optional<double> ResidualScores::quantile(double probability) const {
    if (scores_.empty()) return std::nullopt;
    std::vector<double> known;
    double largest = scores_.front().score;
    for (const Score& score : scores_) {
        if (!score.censored) known.push_back(score.score);
        largest = std::max(largest, score.score);
    }
    const auto rank = static_cast<std::size_t>(std::ceil(static_cast<double>(scores_.size() + 1) * probability));
    if (rank > known.size() || rank == 0) return largest;
    const auto place = known.begin() + static_cast<std::ptrdiff_t>(rank - 1);
    std::nth_element(known.begin(), place, known.end());
    return *place;
}

}  // namespace hpo::guard
