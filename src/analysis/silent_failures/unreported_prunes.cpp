// SPDX-License-Identifier: MIT
#include "hpo/analysis/silent_failures/unreported_prunes.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <set>
#include <span>
#include <vector>

#include "hpo/analysis/failure_cases/failure_case.hpp"
#include "hpo/analysis/silent_failures/pace.hpp"

namespace hpo::analysis {

std::vector<UnreportedPrune> unreported_prunes(std::span<const Trial> trials, const std::set<const Trial*>& known) {
    std::vector<UnreportedPrune> found;
    for (const Trial& trial : trials) {
        if (trial.state != TrialState::pruned || !trial.intermediate.empty() || !trial.attempts.empty() || known.contains(&trial)) continue;
        found.push_back({.trial = &trial, .seconds = detail::trial_seconds(trial), .neighbour_seconds = {}});
    }
    if (found.empty()) return found;
    std::vector<const Trial*> others;
    for (const Trial& trial : trials) {
        const bool ran = trial.state == TrialState::complete || (trial.state == TrialState::pruned && !trial.intermediate.empty());
        if (ran && trial.attempts.empty() && detail::trial_seconds(trial)) others.push_back(&trial);
    }
    if (std::ranges::none_of(others, [](const Trial* trial) { return !trial->intermediate.empty(); })) return found;
    for (UnreportedPrune& entry : found) {
        if (!entry.seconds) continue;
        auto right = std::ranges::lower_bound(others, entry.trial->number, std::less{}, &Trial::number);
        auto left = right;
        std::vector<double> near;
        while (near.size() < 10 && (left != others.begin() || right != others.end())) {
            if (left != others.begin()) near.push_back(*detail::trial_seconds(**--left));
            if (right != others.end()) near.push_back(*detail::trial_seconds(**right++));
        }
        if (near.empty()) continue;
        const auto middle = near.begin() + static_cast<std::ptrdiff_t>(near.size() / 2);
        std::ranges::nth_element(near, middle);
        if (*entry.seconds > *middle) entry.neighbour_seconds = *middle;
    }
    return found;
}

}  // namespace hpo::analysis
