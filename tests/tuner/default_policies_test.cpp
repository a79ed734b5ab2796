// SPDX-License-Identifier: MIT
#include <cstdint>
#include <stdexcept>
#include <type_traits>

#include "hpo/hpo.hpp"
#include "support/catch.hpp"

using namespace hpo;

static_assert(std::is_same_v<decltype(Tuner{sampler::Random{}}), Tuner<sampler::Random>>);
static_assert(std::is_same_v<decltype(Tuner{sampler::Random{}, pruner::Median{}}), Tuner<sampler::Random, pruner::Median>>);
static_assert(std::is_same_v<decltype(Tuner{sampler::Random{}, pruner::None{}, guard::Formula{}}),
                             Tuner<sampler::Random, pruner::None, guard::Formula, recovery::Prune>>);
static_assert(std::is_same_v<decltype(Tuner{sampler::Random{}, pruner::None{}, guard::Limit{{}}, recovery::Fail{}}),
                             Tuner<sampler::Random, pruner::None, guard::Limit, recovery::Fail>>);
static_assert(!std::is_convertible_v<sampler::Random, Tuner<sampler::Random>>);

TEST_CASE("a tuner of a sampler alone draws what one with all four policies draws") {
    const auto objective = [](LiveTrial& trial) {
        const double x = trial.suggest_float("x", -5, 5);
        trial.report(1, x);  // nobody judges it
        return x * x;
    };
    Tuner one{sampler::Tpe{}};
    Tuner four{sampler::Tpe{}, pruner::None{}, guard::Unlimited{}, recovery::Fail{}};
    const TuneResult a = one.optimize(store::InMemory{}, "s", objective, {.trials = 30});
    const TuneResult b = four.optimize(store::InMemory{}, "s", objective, {.trials = 30});
    REQUIRE(a.trials.size() == 30);
    for (std::size_t i = 0; i < 30; ++i) {
        CHECK(a.trials[i].state == TrialState::complete);
        CHECK(a.trials[i].params == b.trials[i].params);
    }
}

TEST_CASE("by default a trial that runs out of device memory is infeasible, and any other failure is a failed trial") {
    Tuner tuner{sampler::Random{}};
    const auto fails = [](LiveTrial& trial) -> double {
        (void)trial.suggest_int("k", 1, 8);
        if (trial.number() == 0)
            throw std::runtime_error{"CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 16.00 MiB total capacity)"};
        throw std::runtime_error{"no such file"};
    };
    const TuneResult result = tuner.optimize(store::InMemory{}, "s", fails, {.trials = 2});
    REQUIRE(result.trials.size() == 2);
    CHECK(result.trials[0].state == TrialState::pruned);
    CHECK(result.trials[0].constraints.at("memory") > 0);
    CHECK(result.trials[1].state == TrialState::fail);
    CHECK(result.trials[1].constraints.empty());
}
