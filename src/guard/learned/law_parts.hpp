// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "hpo/guard/learned/peak_law.hpp"

namespace hpo::guard {

inline constexpr std::size_t most_steps = 5;  ///< of one amount

/// The parts that laws may have: products of up to three amounts, of which one may be squared, and these and constants for each category.
/// There are also steps, from some value of an amount on: constants and single amounts, and constants for each category. Of many amounts
/// and categories only those count that go best with the peaks. Of an amount with many values a few steps are possible.
[[nodiscard]] std::vector<LawTerm> possible_terms(const LawData& data);

/// The bytes of a part, divided by its coefficient. 0 for a run that does not have an amount of it.
[[nodiscard]] double product_of(const LawTerm& term, const std::vector<double>& row);

}  // namespace hpo::guard
