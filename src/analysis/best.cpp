// SPDX-License-Identifier: MIT
#include "hpo/analysis/best.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace hpo::analysis {

bool dominates(std::span<const Direction> directions, const Trial& a, const Trial& b) {
    bool somewhere = false;
    for (std::size_t i = 0; i < directions.size(); ++i) {
        if (better(directions[i], b.values[i], a.values[i])) return false;
        somewhere = somewhere || better(directions[i], a.values[i], b.values[i]);
    }
    return somewhere;
}

std::set<const Trial*> complete_out_of_memory(std::span<const FailureCase> cases) {
    std::set<const Trial*> found;
    for (const FailureCase& entry : cases) {
        if (entry.caught && entry.is_oom()) found.insert(entry.trial);
    }
    return found;
}

std::vector<const Trial*> best_trials(std::span<const Trial> trials, std::span<const Direction> directions, std::size_t most,
                                      const std::set<const Trial*>& without) {
    Configurations configurations;
    const std::span<const Trial> means = configurations.of(trials);
    const auto first_trial = [&](const Trial& mean) { return &*std::ranges::lower_bound(trials, mean.number, {}, &Trial::number); };
    std::vector<const Trial*> ranked;
    for (const Trial& trial : means) {
        if (!is_ranked(trial, directions.size()) || without.contains(first_trial(trial))) continue;
        if (directions.size() > 1) {
            if (std::ranges::any_of(ranked, [&](const Trial* other) { return dominates(directions, *other, trial); })) continue;
            std::erase_if(ranked, [&](const Trial* other) { return dominates(directions, trial, *other); });
        }
        ranked.push_back(&trial);
    }
    if (directions.size() == 1) {
        const auto before = [&](const Trial* a, const Trial* b) {
            return better(directions[0], a->values[0], b->values[0]) || (!better(directions[0], b->values[0], a->values[0]) && a < b);
        };
        const std::size_t count = std::min(ranked.size(), most);
        std::ranges::partial_sort(ranked, ranked.begin() + static_cast<std::ptrdiff_t>(count), before);
        ranked.resize(count);
    }
    for (const Trial*& trial : ranked) trial = first_trial(*trial);
    return ranked;
}

Trial with_mean(std::span<const Trial> trials, const Trial& trial) {
    Configurations configurations;
    (void)configurations.of(trials);
    Trial shown = trial;
    if (const SeedTrials* const seeds = configurations.seeds_of_trial(trial.number)) {
        for (std::size_t i = 0; i < shown.values.size(); ++i) shown.values[i] = seeds->mean(i);
    }
    return shown;
}

std::optional<double> welch_p_value(const SeedTrials& a, const SeedTrials& b, std::size_t objective) {
    const auto variance_a = a.variance(objective), variance_b = b.variance(objective);
    if (!variance_a || !variance_b || a.failed() > 0 || b.failed() > 0) return std::nullopt;
    const auto count_a = static_cast<double>(a.values().size()), count_b = static_cast<double>(b.values().size());
    const double of_a = *variance_a / count_a, of_b = *variance_b / count_b;
    const double difference = std::fabs(a.mean(objective) - b.mean(objective));
    if (!(of_a + of_b > 0)) return std::nullopt;
    const double freedom = (of_a + of_b) * (of_a + of_b) / (of_a * of_a / (count_a - 1) + of_b * of_b / (count_b - 1));
    return 2 * boost::math::cdf(boost::math::complement(boost::math::students_t{freedom}, difference / std::sqrt(of_a + of_b)));
}

std::vector<const Trial*> trials_to_keep(std::span<const Trial> trials, std::span<const Direction> directions,
                                         const std::set<const Trial*>& without) {
    std::vector<const Trial*> ranked = best_trials(trials, directions, trials.size(), without);
    if (directions.size() != 1 || ranked.empty()) return ranked;
    std::size_t count = (ranked.size() + 19) / 20;
    while (count < ranked.size() && ranked[count]->values[0] == ranked[count - 1]->values[0]) ++count;
    ranked.resize(count);
    return ranked;
}

}  // namespace hpo::analysis
