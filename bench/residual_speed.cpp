// SPDX-License-Identifier: MIT
// What it costs the calibrated guard to learn: an observation, an estimate after one more trial, and an estimate that reads the whole
// study.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "hpo/base/normal_quantile.hpp"
#include "hpo/base/time.hpp"
#include "hpo/core/seed.hpp"
#include "hpo/guard/calibrated.hpp"
#include "hpo/guard/predicted_estimate.hpp"

namespace {

using hpo::guard::ResidualPosterior;

constexpr std::size_t trials = 10'000;
constexpr std::uint64_t families = 40;

/// The median and the largest of 1000 observations after `trials`, in milliseconds; three in ten are censored.
void print_observation() {
    hpo::Rng rng = hpo::Seed{1}.rng();
    ResidualPosterior posterior{{}, 60};
    std::vector<double> milliseconds;
    for (std::size_t i = 0; i < trials + 1000; ++i) {
        const std::string family = std::to_string(rng.below(families));
        const double residual = 0.1 * hpo::normal_quantile(std::max(rng.uniform(), 1e-12));
        const bool censored = rng.below(10) < 3;
        const hpo::Stopwatch watch;
        posterior.observe(family, residual, censored);
        if (i >= trials) milliseconds.push_back(1000 * watch.seconds());
    }
    std::sort(milliseconds.begin(), milliseconds.end());
    std::printf("an observation after %zu of %llu families: median %.4f ms, largest of 1000 %.4f ms\n", trials,
                static_cast<unsigned long long>(families), milliseconds[500], milliseconds.back());
}

hpo::Trial finished(std::int64_t number, hpo::Rng& rng) {
    hpo::Trial trial;
    trial.id = trial.number = number;
    trial.state = hpo::TrialState::complete;
    std::vector<hpo::Value> names;
    for (std::uint64_t i = 0; i < families; ++i) names.emplace_back("model " + std::to_string(i));
    trial.params.set("model", hpo::CategoricalDistribution{names}, static_cast<double>(rng.below(families)));
    hpo::PeakPrediction prediction;
    prediction.need = prediction.comfort = 1 << 30;
    hpo::Attempt attempt;
    attempt.estimate = hpo::guard::bare_estimate(prediction);
    attempt.outcome = hpo::OutcomeKind::complete;
    attempt.peak_allocated = static_cast<std::int64_t>((0.9 + 0.2 * rng.uniform()) * (1 << 30));
    trial.attempts.push_back(std::move(attempt));
    return trial;
}

void print_estimate() {
    hpo::Rng rng = hpo::Seed{2}.rng();
    std::vector<hpo::Trial> history;
    for (std::size_t i = 0; i < trials; ++i) history.push_back(finished(static_cast<std::int64_t>(i), rng));
    hpo::PeakPrediction prediction;
    prediction.need = prediction.comfort = 1 << 30;
    const hpo::guard::Calibrated guard;
    const auto milliseconds = [&] {
        const hpo::ParamSet params = history.back().params;
        const hpo::Stopwatch watch;
        (void)guard.estimate({params, {}, nullptr, std::nullopt, {"study", {}, history, {}}, &prediction});
        return 1000 * watch.seconds();
    };
    std::printf("an estimate that reads %zu trials: %.1f ms\n", trials, milliseconds());
    history.push_back(finished(static_cast<std::int64_t>(trials), rng));
    std::printf("an estimate after one more: %.4f ms\n", milliseconds());
}

}  // namespace

int main() {
    print_observation();
    print_estimate();
}
