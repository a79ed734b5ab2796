// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace bench {

/// By what share of the measured value predictions were off; negative: too low.
class PredictionErrors {
public:
    void add(double share) { shares_.push_back(share); }
    [[nodiscard]] bool empty() const { return shares_.empty(); }
    [[nodiscard]] std::size_t count() const { return shares_.size(); }
    /// Of the errors' sizes; 0.5 is the median. Not of none.
    [[nodiscard]] double quantile(double quantile) const {
        std::vector<double> sizes;
        for (const double share : shares_) sizes.push_back(std::abs(share));
        std::sort(sizes.begin(), sizes.end());
        return sizes.at(static_cast<std::size_t>(quantile * static_cast<double>(sizes.size() - 1) + 0.5));
    }
    /// How many were too low by more than 0.1 %.
    [[nodiscard]] std::size_t low() const {
        return static_cast<std::size_t>(std::count_if(shares_.begin(), shares_.end(), [](double share) { return share < -1e-3; }));
    }
    /// Two cells of a table: "median / 90th percentile / largest | low", in %; empty ones for none.
    [[nodiscard]] std::string text() const {
        if (shares_.empty()) return "|";
        char text[96];
        std::snprintf(text, sizeof text, "%.2f / %.2f / %.2f | %zu", 100 * quantile(0.5), 100 * quantile(0.9), 100 * quantile(1), low());
        return text;
    }

private:
    std::vector<double> shares_;
};

}  // namespace bench
