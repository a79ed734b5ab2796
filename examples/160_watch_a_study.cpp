// SPDX-License-Identifier: MIT
// Is told what happens in a study.
#include <cstdio>
#include <variant>

#include "hpo/hpo.hpp"

struct Watch final : hpo::TuneObserver {
    void on(const hpo::StudyEvent& event) override {
        const auto* const finished = std::get_if<hpo::event::TrialFinished>(&event);
        if (finished) std::printf("trial %lld has ended\n", static_cast<long long>(finished->trial.number));
    }
};

int main() {
    hpo::Tuner tuner{hpo::sampler::Random{}};
    hpo::store::InMemory store;
    Watch watch;
    const auto square = [](hpo::LiveTrial& trial) {
        const double x = trial.suggest_float("x", -5, 5);
        return x * x;
    };
    const auto study = tuner.optimize(store, "square", square, {.trials = 3}, watch);
    std::printf("%zu trials\n", study.trials.size());
}
