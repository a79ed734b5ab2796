// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hpo/analysis/memory_need/example.hpp"
#include "hpo/analysis/regions/condition.hpp"

namespace hpo::analysis {

struct LearnedRegion {
    Region region;
    std::size_t examples = 0;
    std::size_t positives = 0;
};

}  // namespace hpo::analysis

namespace hpo::analysis::detail {

using Bits = std::vector<std::uint64_t>;

struct Counted {
    std::size_t examples = 0;
    std::size_t positives = 0;
};

struct Candidate {
    Condition condition;
    Bits holds;
    Bits kept;  ///< the examples that no region may contain
    std::size_t positives = 0;
};

[[nodiscard]] Bits both(const Bits& a, const Bits& b);

[[nodiscard]] Counted count(const Bits& a, const Bits& b, const Bits& positive);

/// The conditions worth trying. For a parameter of numbers, each seen value is a lower and an upper bound (32 quantiles if there are more).
/// For a parameter of choices: each choice, and the two or three choices with the highest share of positives together.
[[nodiscard]] std::vector<Condition> candidate_conditions(std::span<const Example> examples);

}  // namespace hpo::analysis::detail

namespace hpo::analysis {

/// Finds the few regions, of one to three conditions each, where positives are frequent. It is subgroup discovery with the measure
/// sqrt(coverage) * (rate - rate of all) (Kloesgen 1996). It is greedy: each next region is judged on the positives that no region covers
/// yet.
///
/// A region has at least three positives (two if there are fewer than six in all). Its rate is at least 65 % and 1.5 times the rate of all.
/// Less than `by_chance` such regions are expected where positives come by chance. Each further condition must improve the measure enough.
/// No region holds one of `kept`. Deterministic.
///
/// Complexity: it tries all candidate conditions, all pairs of them, and a third condition for the 32 best pairs. With C conditions and N
/// examples and kept ones, this is C * C * N / 64 steps.
[[nodiscard]] std::vector<LearnedRegion> learn_regions(std::span<const Example> examples, std::span<const ParamSet* const> kept = {},
                                                       double by_chance = 0.5);

}  // namespace hpo::analysis
