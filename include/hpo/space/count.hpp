// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hpo/space/space_trial.hpp"
#include "hpo/space/tally.hpp"

namespace hpo {

/// Options for counting a space.
struct CountOptions {
    std::string by;                             ///< the categorical parameter to list by; empty: the first one with branches
    std::uint64_t enumerate_up_to = 50'000;     ///< larger spaces are factored instead
    std::uint64_t enumerate_at_most = 200'000;  ///< limit of runs if factoring failed
};

/// How exactly a number of refused combinations is known.
enum class RefusedCount {
    exact,
    at_least,  ///< the space cannot continue after some refusals; each of these counts as one combination
    estimate,  ///< estimated from random combinations
};

/// One value of the categorical that a count is listed by.
struct CountBranch {
    Value value;
    std::uint64_t combinations = 0;
    std::uint64_t refused = 0;
};

/// The number of combinations in a space, not counting continuous parameters.
struct SpaceCount {
    std::uint64_t combinations = 0;
    bool exact = true;          ///< false: this is a lower bound
    std::uint64_t refused = 0;  ///< combinations that `require` excludes, not counted in `combinations`
    RefusedCount refused_is = RefusedCount::exact;
    std::vector<std::string> continuous;  ///< names of the continuous parameters
    std::string branches_by;              ///< the categorical parameter of `branches`; empty: none has branches
    std::vector<CountBranch> branches;    ///< in the order of the parameter's choices
};

namespace detail {

/// Combinations of a space, and how exactly they are known.
struct Counted {
    Tally tally;
    bool exact = false;
    bool cut = false;  ///< a refused run stands for several combinations
    std::vector<std::string> continuous;
};

[[nodiscard]] bool branches(const Tally::Parameter& parameter);

}  // namespace detail

/// Counts a space. A space of up to `enumerate_up_to` combinations (by an estimate) is enumerated. A larger one is factored if its
/// sub-trees agree; random runs check this. If both fail, the result is a lower bound: the combinations found within `enumerate_at_most`
/// runs. Throws unknown_name if `by` is not a categorical parameter of the space.
[[nodiscard]] SpaceCount count(const Space& space, const CountOptions& options = {});

}  // namespace hpo
