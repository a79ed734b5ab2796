// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hpo/analysis/failure_case.hpp"

namespace hpo::analysis {

/// How long the complete trials of a study take, and how far their reports go: what a trial that ended otherwise is held against.
struct Pace {
    std::size_t trials = 0;  ///< complete ones whose time is known
    double least_seconds = 0;
    double low_seconds = 0;  ///< the twentieth part is shorter
    double most_seconds = 0;
    std::optional<std::int64_t> last_step;    ///< that the median complete trial reported
    std::optional<std::int64_t> first_ended;  ///< the number of the complete trial that ended first
    std::optional<Time> first_end;
};

[[nodiscard]] inline Pace pace_of(std::span<const Trial> trials) {
    Pace pace;
    std::vector<double> seconds;
    std::vector<std::int64_t> steps;
    for (const Trial& trial : trials) {
        if (trial.state != TrialState::complete) continue;
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
