// SPDX-License-Identifier: MIT
#include "hpo/analysis/best.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace hpo;
using namespace hpo::analysis;

namespace {

const std::vector<Direction> maximize{Direction::maximize};

/// Complete trials of one configuration, the first of which has the number `first`.
std::vector<Trial> trials_of_seeds(std::int64_t first, const std::vector<double>& values) {
    std::vector<Trial> trials;
    for (std::size_t i = 0; i < values.size(); ++i) {
        Trial trial;
        trial.number = first + static_cast<std::int64_t>(i);
        trial.state = TrialState::complete;
        trial.values = {values[i]};
        if (i == 0) trial.system_attributes[seeds_attribute] = values.size();
        else trial.system_attributes[repeats_attribute] = first;
        trials.push_back(trial);
    }
    return trials;
}

SeedTrials taken(const std::vector<double>& values) {
    SeedTrials taken;
    for (const Trial& trial : trials_of_seeds(0, values)) taken.take(trial);
    return taken;
}

}  // namespace

TEST_CASE("the p-value of two configurations is that of Welch's test") {
    // scipy 1.17: ttest_ind(a, b, equal_var=False)
    CHECK(welch_p_value(taken({0.91, 0.93, 0.92}), taken({0.90, 0.86, 0.91})).value() == Approx(0.17909679237710675).epsilon(1e-9));
    CHECK(welch_p_value(taken({1, 2, 3, 4}), taken({2.5, 7, 4.5})).value() == Approx(0.2331699326982965).epsilon(1e-9));
    CHECK(welch_p_value(taken({1, 1}), taken({2, 2})) == std::nullopt);
    CHECK(welch_p_value(taken({1}), taken({2, 3})) == std::nullopt);
}

TEST_CASE("trials that differ in their seed alone are ranked by their mean, once all have ended") {
    std::vector<Trial> trials = trials_of_seeds(0, {0.99, 0.5, 0.5});
    for (Trial& trial : trials_of_seeds(3, {0.8, 0.8, 0.9})) trials.push_back(std::move(trial));
    const std::vector<Trial> begun = trials_of_seeds(6, {1.0, 1.0});
    trials.push_back(begun[0]);
    const auto best = best_trials(trials, maximize, 3);
    REQUIRE(best.size() == 2);
    CHECK(best[0] == &trials[3]);
    CHECK(best[1] == &trials[0]);
    trials.push_back(begun[1]);
    CHECK(best_trials(trials, maximize, 1).at(0)->number == 6);
    CHECK(with_mean(trials, trials[0]).values.at(0) == Approx(1.99 / 3));
    CHECK(with_mean(trials, trials[1]).values == std::vector<double>{0.5});
}
