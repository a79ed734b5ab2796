// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/space/count.hpp"
#include "tune/prediction/estimator.hpp"

namespace hpo::tune {

/// How many configurations fit their device.
struct FitCounts {
    std::uint64_t as_they_are = 0;
    std::uint64_t smaller = 0;
    std::uint64_t never = 0;
    std::uint64_t unknown = 0;

    void add(Fit fit);
    [[nodiscard]] std::uint64_t all() const { return as_they_are + smaller + never + unknown; }
};

/// What a guard thinks of a space's configurations.
struct Survey {
    FitCounts counts;
    std::vector<std::pair<Value, FitCounts>> branches;  ///< by the value of SpaceCount::branches_by, in the order of their first
    bool sampled = false;                               ///< random draws; else each combination once
    bool complete = true;                               ///< false: time was up
    std::vector<std::string> never_asked;               ///< fixed parameters that no configuration has, looked at so far
};

struct SurveyLimits {
    std::uint64_t most = 500;   ///< combinations that are looked at one by one
    std::uint64_t draws = 500;  ///< at random, where there are more of them
    double seconds = 25;
    std::function<void(const Survey& so_far, std::uint64_t of)> progress{};
};

/// Looks at each combination of a small space that the fixed values allow, else at random draws. Continuous parameters stand at their
/// middle where the trainer says that no value of theirs matters for memory; where one may, draws are random. Throws Error{unknown_name}
/// for a fixed parameter that the space has not, Error{bad_value} for fixed values that no configuration has.
[[nodiscard]] Survey survey(Estimator& estimator, const Settings& settings, const TrainerInfo& info, const SpaceCount& count,
                            const SurveyLimits& limits);

}  // namespace hpo::tune
