// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hpo/analysis/condition.hpp"

namespace hpo::analysis {

/// One trial for the learner.
struct Example {
    const ParamSet* params = nullptr;
    bool positive = false;
    std::optional<double> peak_bytes;  ///< that it needed, where it was measured
};

struct LearnedRegion {
    Region region;
    std::size_t examples = 0;
    std::size_t positives = 0;
};

namespace detail {

using Bits = std::vector<std::uint64_t>;

struct Counted {
    std::size_t examples = 0;
    std::size_t positives = 0;
};

struct Candidate {
    Condition condition;
    Bits holds;
    Bits kept;  ///< of those that no region may hold
    std::size_t positives = 0;
};

[[nodiscard]] Bits both(const Bits& a, const Bits& b);

[[nodiscard]] Counted count(const Bits& a, const Bits& b, const Bits& positive);

/// The conditions worth trying: for a parameter of numbers each value seen as a lower and an upper bound (32 quantiles when there are
/// more), for a parameter of choices each choice, and the two or three with the highest share of positives together.
[[nodiscard]] std::vector<Condition> candidate_conditions(std::span<const Example> examples);

}  // namespace detail

/// Finds the few regions, of one to three conditions each, where positives are dense: subgroup discovery with the measure
/// sqrt(coverage) * (rate - rate of all) (Kloesgen 1996), greedily, each next region judged on the positives not yet covered. A region
/// has at least three positives (two when there are under six), a rate of at least 65 % and of 1.5 times the rate of all; each
/// further condition has to earn its place. No region holds one of `kept`. Deterministic. All candidate conditions and pairs of them are
/// tried, and a third condition with the 32 best pairs: with C conditions and N examples and kept ones, C * C * N / 64 steps.
[[nodiscard]] std::vector<LearnedRegion> learn_regions(std::span<const Example> examples, std::span<const ParamSet* const> kept = {},
                                                       std::size_t most = 3);

}  // namespace hpo::analysis

#ifndef HPO_COMPILED
#include "hpo/analysis/impl/region_learner_inl.hpp"
#endif
