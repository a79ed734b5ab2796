// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>

#include "hpo/core/trial.hpp"

namespace hpo::analysis {

/// Two whole numbers of which the second does not divide the first in the failed trials, and does in all others: 100 units for 3 heads.
struct IndivisiblePair {
    std::string whole;
    std::string divisor;
};

/// The pair that tells all failed trials from all others. Nullopt if there is none, or fewer than three trials on one of the sides.
[[nodiscard]] std::optional<IndivisiblePair> indivisible_pair(const std::set<const Trial*>& failed, std::span<const Trial* const> others);

}  // namespace hpo::analysis
