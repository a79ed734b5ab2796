// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hpo/space/space_trial.hpp"
#include "hpo/space/tally.hpp"

namespace hpo {

/// How a space is counted.
struct CountOptions {
    std::string by;                             ///< the categorical to list by; empty: the first one that branches
    std::uint64_t enumerate_up_to = 50'000;     ///< larger spaces are factored instead
    std::uint64_t enumerate_at_most = 200'000;  ///< runs, where factoring failed
};

/// How far a number of refused combinations is known.
enum class RefusedCount {
    exact,
    at_least,  ///< the space cannot go on after some refusals, each of which counts as one combination
    estimate,  ///< from random combinations
};

/// One value of the categorical that a count is listed by.
struct CountBranch {
    Value value;
    std::uint64_t combinations = 0;
    std::uint64_t refused = 0;
};

/// The number of combinations in a space, continuous parameters aside.
struct SpaceCount {
    std::uint64_t combinations = 0;
    bool exact = true;          ///< false: there are at least as many
    std::uint64_t refused = 0;  ///< combinations that `require` excludes, not counted in `combinations`
    RefusedCount refused_is = RefusedCount::exact;
    std::vector<std::string> continuous;  ///< names of the parameters that have no number of values
    std::string branches_by;              ///< empty: no categorical changes what follows it
    std::vector<CountBranch> branches;    ///< in the order of its choices
};

namespace detail {

/// Combinations of a space, and how far they are known.
struct Counted {
    Tally tally;
    bool exact = false;
    bool cut = false;  ///< a refused run stands for more combinations than one
    std::vector<std::string> continuous;
};

[[nodiscard]] bool branches(const Tally::Parameter& parameter);

}  // namespace detail

/// Counts a space. Spaces of up to `enumerate_up_to` combinations (by estimate) are enumerated; larger ones are factored
/// where sub-trees agree, which is checked by random runs. Where neither answers, the combinations met within
/// `enumerate_at_most` runs are what there is at least. Throws unknown_name when `by` is no categorical of the space.
[[nodiscard]] SpaceCount count(const Space& space, const CountOptions& options = {});

}  // namespace hpo

#ifndef HPO_COMPILED
#include "hpo/space/impl/count_inl.hpp"
#endif
