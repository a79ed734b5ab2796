// SPDX-License-Identifier: MIT
#include "hpo/analysis/silent_failures/suspicious_values.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <span>
#include <vector>

#include "hpo/analysis/failure_cases/failure_case.hpp"
#include "hpo/analysis/failure_cases/finite_values.hpp"

namespace hpo::analysis::detail {

[[nodiscard]] double median(std::vector<double> numbers) {
    const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
    std::ranges::nth_element(numbers, middle);
    return *middle;
}

}  // namespace hpo::analysis::detail

namespace hpo::analysis {

bool SuspiciousValues::contains(const Trial& trial) const {
    return std::ranges::find(infinite, &trial) != infinite.end() || std::ranges::find(penalised, &trial) != penalised.end();
}

SuspiciousValues suspicious_values(std::span<const Trial> trials, std::span<const Direction> directions,
                                   const std::set<const Trial*>& explained) {
    constexpr std::size_t fewest = 3;
    constexpr double far_sooner = 3;
    SuspiciousValues found;
    std::vector<const Trial*> finite;
    for (const Trial& trial : trials) {
        if (trial.state != TrialState::complete || trial.values.empty() || explained.contains(&trial)) continue;
        if (!has_finite_values(trial)) found.infinite.push_back(&trial);
        else if (trial.attempts.empty()) finite.push_back(&trial);  // hpo's own trials tell what happened
    }
    if (directions.empty() || finite.empty()) return found;
    // In every objective no trial is worse.
    std::vector<double> worst = finite.front()->values;
    for (const Trial* trial : finite) {
        for (std::size_t i = 0; i < std::min(worst.size(), trial->values.size()) && i < directions.size(); ++i)
            if (better(directions[i], worst[i], trial->values[i])) worst[i] = trial->values[i];
    }
    std::vector<const Trial*> same;
    std::vector<double> seconds;
    std::vector<double> others;
    for (const Trial* trial : finite) {
        const bool is_worst = trial->values == worst;
        if (is_worst) same.push_back(trial);
        if (const auto took = detail::trial_seconds(*trial)) (is_worst ? seconds : others).push_back(*took);
    }
    if (same.size() < fewest || seconds.size() < same.size() || others.size() < fewest) return found;
    const double usual = detail::median(others);
    // Nearly all of them must have ended sooner. One value that a bad model reaches takes its time.
    const auto sooner = static_cast<std::size_t>(std::ranges::count_if(seconds, [&](double each) { return each * far_sooner < usual; }));
    if (10 * sooner < 9 * same.size()) return found;
    found.penalised = std::move(same);
    found.usual_seconds = usual;
    return found;
}

}  // namespace hpo::analysis
