// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "hpo/pruner/median.hpp"
#include "hpo/pruner/none.hpp"
#include "hpo/sampler/random.hpp"
#include "hpo/sampler/tpe.hpp"
#include "hpo/store/in_memory.hpp"
#include "hpo/tuner/ask_tell.hpp"
#include "hpo/tuner/study_event.hpp"
#include "support/catch.hpp"
#include "tuner/full_disk_store.hpp"

using namespace hpo;
using Catch::Contains;
using hpo::tests::FullDiskStore;

namespace {

SilentObserver silent;

}  // namespace

TEST_CASE("a program asks for trials and tells how they ended") {
    store::InMemory store;
    tuner::AskTell study{store, "study", sampler::Tpe{}, pruner::Median{}, {.directions = {Direction::maximize}, .seed = 3}, silent};
    for (int i = 0; i < 50; ++i) {
        const auto asked = study.ask({{"x", FloatDistribution{0, 1}}});
        CHECK(asked.trial == i);
        study.tell(asked.trial, {.values = {-std::abs(*asked.params.number("x") - 0.3)}});
    }
    const Trial* const best = best_trial(study.trials(), Direction::maximize);
    REQUIRE(best);
    CHECK(best->params.number("x") == Approx(0.3).margin(0.05));
    CHECK(study.numbers().empty());
}

TEST_CASE("an ask that a full disk cut short can be repeated, and leaves nothing open") {
    using At = FullDiskStore::At;
    for (const At at : {At::begin, At::set_params, At::begin_attempt}) {
        CAPTURE(static_cast<int>(at));
        FullDiskStore store{at, 1, FullDiskStore::Lasts::one_call};
        tuner::AskTell study{store, "study", sampler::Random{}, pruner::None{}, {}, silent};
        const auto first = study.ask({{"x", FloatDistribution{0, 1}}});
        CHECK_THROWS_WITH(study.ask({{"x", FloatDistribution{0, 1}}}), "hpo.db: disk is full");
        CHECK(study.numbers() == std::vector{first.trial});
        const auto second = study.ask({{"x", FloatDistribution{0, 1}}});
        CHECK(study.numbers() == std::vector{first.trial, second.trial});
        for (const std::int64_t number : study.numbers()) study.tell(number, {.values = {1}});
        for (const Trial& trial : study.trials()) CHECK(is_finished(trial.state));
    }
}

TEST_CASE("what a full disk refused can be told again") {
    using At = FullDiskStore::At;
    for (const At at : {At::end_attempt, At::finish}) {
        for (const TrialState state : {TrialState::complete, TrialState::pruned, TrialState::fail}) {
            CAPTURE(static_cast<int>(at), static_cast<int>(state));
            FullDiskStore store{at, 0, FullDiskStore::Lasts::one_call};
            tuner::AskTell study{store, "study", sampler::Random{}, pruner::None{}, {}, silent};
            (void)study.ask();
            const auto told = [&] {
                return tuner::Told{.state = state,
                                   .values = state == TrialState::complete ? std::vector{1.0} : std::vector<double>{},
                                   .constraints = {{"c", 1.0}},
                                   .attributes = {{"a", "1"}}};
            };
            CHECK_THROWS_WITH(study.tell(0, told()), "hpo.db: disk is full");
            CHECK(study.trials()[0].state == TrialState::running);
            CHECK(study.trials()[0].constraints.empty());
            CHECK(study.numbers().size() == 1);
            study.tell(0, told());
            CHECK(study.trials()[0].state == state);
            CHECK(study.numbers().empty());
            std::vector<Trial> stored;
            store.refresh(study.study().id, stored);
            CHECK(stored.at(0).state == state);
            CHECK(stored.at(0).user_attributes.at("a") == "1");
        }
    }
    FullDiskStore store{At::report, 0, FullDiskStore::Lasts::one_call};
    tuner::AskTell study{store, "study", sampler::Random{}, pruner::None{}, {}, silent};
    (void)study.ask();
    CHECK_THROWS_WITH(study.report(0, {.step = 1, .value = 2}), "hpo.db: disk is full");
    CHECK_FALSE(study.report(0, {.step = 1, .value = 2}).prune);
    std::vector<Trial> stored;
    store.refresh(study.study().id, stored);
    CHECK(stored.at(0).intermediate.at(1) == 2);
}

TEST_CASE("a parameter that is suggested alone has the value that the whole space would have had") {
    const CategoricalDistribution kinds{{"a", "b"}};
    store::InMemory one;
    store::InMemory other;
    tuner::AskTell whole{one, "study", sampler::Tpe{{.startup_trials = 5}}, pruner::None{}, {}, silent};
    tuner::AskTell alone{other, "study", sampler::Tpe{{.startup_trials = 5}}, pruner::None{}, {}, silent};
    for (int number = 0; number < 30; ++number) {
        const auto asked = whole.ask({{"x", FloatDistribution{0, 1}}, {"k", kinds}});
        (void)alone.ask();
        CHECK(alone.suggest(number, "x", FloatDistribution{0, 1}) == asked.params.value("x"));
        CHECK(alone.suggest(number, "k", kinds) == asked.params.value("k"));
        const double value = *asked.params.number("x");
        whole.tell(number, {.values = {value}});
        alone.tell(number, {.values = {value}});
    }
}

TEST_CASE("a stop in order breaks the row of ends that gives a configuration up") {
    store::InMemory store;
    ParamSet params;
    for (int end = 0; end < 6; ++end) {
        tuner::AskTell study{store, "study", sampler::Random{}, pruner::None{}, {}, silent};
        const auto asked = study.ask({{"x", FloatDistribution{0, 1}}});
        if (end == 0) params = asked.params;
        CHECK(asked.params == params);
        study.close(end == 2 ? tuner::LeftOpen::stopped : tuner::LeftOpen::caller_gone);
    }
    tuner::AskTell study{store, "study", sampler::Random{}, pruner::None{}, {}, silent};
    CHECK_FALSE(study.ask({{"x", FloatDistribution{0, 1}}}).params == params);
}
