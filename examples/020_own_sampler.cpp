// SPDX-License-Identifier: MIT
// A sampler of your own. Any type that satisfies the concept works with the other policies. This one takes smaller and smaller steps
// around the best trial so far.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "hpo/hpo.hpp"

class HillClimber {
public:
    [[nodiscard]] double suggest(const hpo::Ask& ask) const {
        const hpo::History& history = ask.trial.history;
        const hpo::Trial* best = hpo::best_trial(history.trials, history.directions[0]);
        const hpo::Param* centre = best ? best->params.find(ask.name) : nullptr;
        const auto* range = std::get_if<hpo::FloatDistribution>(&ask.distribution);
        if (!centre || !range) return fallback_.suggest(ask);
        const double reach = (range->high - range->low) / std::sqrt(1.0 + static_cast<double>(ask.trial.number));
        const double low = std::max({range->low, ask.within.low, centre->internal - reach});
        const double high = std::min({range->high, ask.within.high, centre->internal + reach});
        return low + ask.rng.uniform() * (high - low);
    }

private:
    hpo::sampler::Random fallback_;  // for the first trial, and for parameters that are not real numbers
};
static_assert(hpo::Sampler<HillClimber>);

int main() {
    hpo::Tuner tuner{HillClimber{}};
    hpo::store::InMemory store;
    const auto study = tuner.optimize(store, "hill", [](hpo::LiveTrial& trial) {
        const double x = trial.suggest_float("x", -10, 10);
        return std::abs(x - 3);
    });
    std::printf("best |x - 3| after %zu trials: %s\n", study.trials.size(), study.best()->values[0] < 0.1 ? "below 0.1" : "above 0.1");
}
