// SPDX-License-Identifier: MIT
#include "hpo/analysis/silent_failures/pace.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "hpo/analysis/failure_cases/failure_case.hpp"

namespace hpo::analysis {

Pace pace_of(std::span<const Trial> trials, const std::set<const Trial*>& without) {
    Pace pace;
    std::vector<double> seconds;
    std::vector<std::int64_t> steps;
    for (const Trial& trial : trials) {
        if (trial.state != TrialState::complete || without.contains(&trial)) continue;
        if (trial.completed && (!pace.first_end || *trial.completed < *pace.first_end)) {
            pace.first_end = trial.completed;
            pace.first_ended = trial.number;
        }
        if (const auto took = detail::trial_seconds(trial)) seconds.push_back(*took);
        if (!trial.intermediate.empty()) steps.push_back(trial.intermediate.rbegin()->first);
    }
    if (!steps.empty() && steps.size() * 2 > seconds.size()) {
        const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
        std::ranges::nth_element(steps, middle);
        pace.last_step = *middle;
    }
    pace.trials = seconds.size();
    if (seconds.empty()) return pace;
    std::ranges::sort(seconds);
    pace.least_seconds = seconds.front();
    pace.low_seconds = seconds[seconds.size() / 20];
    pace.most_seconds = seconds.back();
    return pace;
}

}  // namespace hpo::analysis
