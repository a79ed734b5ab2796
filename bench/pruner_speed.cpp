// SPDX-License-Identifier: MIT
// What a verdict of the median pruner costs in a long study: each trial reports 20 values, every second one may be pruned.
#include <array>
#include <cstdio>
#include <vector>

#include "bench/number_argument.hpp"
#include "hpo/base/normal_quantile.hpp"
#include "hpo/base/time.hpp"
#include "hpo/core/seed.hpp"
#include "hpo/pruner/median.hpp"

int main(int argc, char** argv) {
    const bench::NumberArguments numbers{argc, argv, 1, "pruner_speed [trials]"};
    const std::int64_t count = numbers.at(1, {.standard = 10'000, .least = 1});
    hpo::Rng rng = hpo::Seed{1}.rng();
    hpo::pruner::Median median;
    std::vector<hpo::Trial> trials;
    const std::array directions{hpo::Direction::minimize};
    double seconds = 0;
    std::int64_t verdicts = 0;
    for (std::int64_t number = 0; number < count; ++number) {
        hpo::Trial& trial = trials.emplace_back();
        trial.number = number;
        bool is_pruned = false;
        for (std::int64_t step = 0; step < 20 && !is_pruned; ++step, ++verdicts) {
            trial.intermediate[step] = hpo::normal_quantile(std::max(rng.uniform(), 1e-12)) - 0.1 * static_cast<double>(step);
            const hpo::History history{"speed", directions, trials, {}};
            const hpo::Stopwatch watch;
            const hpo::Verdict verdict = median.judge({trial, step, directions[0], history});
            seconds += watch.seconds();
            is_pruned = number % 2 == 1 && verdict.prunes();
        }
        trial.state = is_pruned ? hpo::TrialState::pruned : hpo::TrialState::complete;
    }
    std::printf("%lld trials, %lld verdicts: %.2f s, %.1f microseconds each\n", static_cast<long long>(count),
                static_cast<long long>(verdicts), seconds, 1e6 * seconds / static_cast<double>(verdicts));
}
