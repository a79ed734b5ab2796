// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hpo/guard/unlimited.hpp"
#include "hpo/pruner/none.hpp"
#include "hpo/recovery/fail.hpp"
#include "hpo/sampler/random.hpp"
#include "hpo/store/in_memory.hpp"
#include "hpo/tuner.hpp"
#include "hpo/tuner/study_event.hpp"
#include "support/catch.hpp"
#include "support/wording.hpp"

using namespace hpo;

namespace {

/// Two jobs at once; each ends in the order in which it came.
class TwoAtOnce final : public Executor {
public:
    [[nodiscard]] std::size_t free_slots() const override { return 2 - queue_.size(); }
    void submit(const Job& job, ExecutorEvents& events) override {
        events.on(job.trial, hpo::AttemptStarted{1});
        queue_.push_back(job);
    }
    void wait(ExecutorEvents& events, double /*timeout_seconds*/) override {
        if (queue_.empty()) return;
        const Job job = queue_.front();
        queue_.erase(queue_.begin());
        if (interrupted_) ++interruptions;
        if (interrupted_) return (void)events.on(job.trial, hpo::AttemptOutcome{.kind = OutcomeKind::interrupted});
        events.on(job.trial, hpo::AttemptOutcome{.kind = OutcomeKind::complete, .values = {job.params.number("x").value_or(0)}});
    }
    void interrupt() override { interrupted_ = true; }
    [[nodiscard]] std::optional<std::int64_t> capacity_bytes() const override { return 100; }

    int interruptions = 0;

private:
    std::vector<Job> queue_;
    bool interrupted_ = false;
};

struct LeftOutListener final : TuneObserver {
    void on(const StudyEvent& event) override {
        if (const auto* const left_out = std::get_if<event::ValueLeftOut>(&event))
            told.push_back(std::to_string(left_out->trial.number) + ": " + left_out->what);
    }
    std::vector<std::string> told;
};

const Space branches = [](SpaceTrial& trial) {
    trial.suggest_float("x", 0, 1);
    const std::string kind = std::get<std::string>(trial.suggest_categorical("kind", {std::string{"a"}, std::string{"b"}}));
    if (kind == "a") trial.suggest_int("n", 1, 5);
};

/// A store that has a study "s" with trials that wait.
store::InMemory store_with(const std::vector<FixedValues>& enqueued) {
    store::InMemory store;
    const Study study = store.open_study("s", std::vector{Direction::minimize}, Store::Open::create);
    for (const FixedValues& values : enqueued) store.enqueue(study.id, values);
    return store;
}

/// Refuses x above a half.
struct HalfFits {
    [[nodiscard]] Estimate estimate(const MemoryQuery& query) const {
        return {.need = static_cast<std::int64_t>(200 * *query.params.number("x")), .source = "half"};
    }
    [[nodiscard]] Evidence evidence() const { return Evidence::none; }
};

const std::string& message_of(const Trial& trial) { return trial.user_attributes.at("error_message"); }

}  // namespace

TEST_CASE("an enqueued trial with a value that the space does not have fails alone, with its reason") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const std::vector<std::pair<FixedValues, std::string>> bad{
        {{{"x", 77.0}}, test::fixed_parameter("x", "77", "float [0, 1]")},
        {{{"x", std::string{"large"}}}, test::fixed_parameter("x", "large", "float [0, 1]")},
        {{{"x", nan}}, test::fixed_parameter("x", "nan", "float [0, 1]")},
        {{{"x", Value{}}}, test::fixed_parameter("x", "null", "float [0, 1]")},
        {{{"x", true}}, test::fixed_parameter("x", "true", "float [0, 1]")},
        {{{"kind", std::string{"c"}}}, test::fixed_parameter("kind", "c", "one of a, b")},
        {{{"kind", std::string{"a"}}, {"n", 0.123}}, test::fixed_parameter("n", "0.123", "int [1, 5]")},
        {{{"n", std::int64_t{9}}, {"kind", std::string{"a"}}}, test::fixed_parameter("n", "9", "int [1, 5]")}};
    std::vector<FixedValues> enqueued{{{"x", 0.25}}};
    for (const auto& each : bad) enqueued.push_back(each.first);
    enqueued.push_back({{"x", 0.75}});
    store::InMemory store = store_with(enqueued);
    Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, recovery::Fail{}};
    TwoAtOnce executor;
    const TuneResult result = tuner.optimize(store, "s", branches, executor, {.trials = 14});

    REQUIRE(result.trials.size() == 14);
    CHECK(executor.interruptions == 0);
    CHECK_FALSE(result.interrupted);
    for (std::size_t i = 0; i < bad.size(); ++i) {
        const Trial& trial = result.trials[1 + i];
        CAPTURE(i);
        REQUIRE(trial.state == TrialState::fail);
        CHECK(counts_as_done(trial));
        CHECK(trial.attempts.empty());  // none was launched
        CHECK_THAT(message_of(trial), Catch::StartsWith("\"cannot run as enqueued: ") && Catch::Contains(bad[i].second));
        CHECK(message_of(trial).size() < 200);
    }
    CHECK(result.trials[0].values == std::vector{0.25});
    CHECK(result.trials[9].values == std::vector{0.75});
    for (std::size_t i = 10; i < 14; ++i) CHECK(result.trials[i].state == TrialState::complete);

    // Begun again, the study has nothing of them left to do.
    TwoAtOnce again;
    const TuneResult more = tuner.optimize(store, "s", branches, again, {.trials = 16});
    CHECK(more.trials.size() == 16);
    CHECK(more.trials[15].state == TrialState::complete);
}

TEST_CASE("an enqueued trial that `require` refuses fails alone") {
    const Space space = [](SpaceTrial& trial) {
        const double x = trial.suggest_float("x", 0, 1);
        trial.require(x + trial.suggest_float("y", 0, 1) < 1, "x + y is too large");
    };
    store::InMemory store = store_with({{{"x", 1.0}}, {{"x", 0.5}}});
    Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, recovery::Fail{}};
    TwoAtOnce executor;
    const TuneResult result = tuner.optimize(store, "s", space, executor, {.trials = 3});
    CHECK(result.trials[0].state == TrialState::fail);
    CHECK_THAT(message_of(result.trials[0]), Catch::Contains("refused 1000 proposals in a row, each for: x + y is too large"));
    CHECK(result.trials[1].values == std::vector{0.5});
    CHECK(result.trials[2].state == TrialState::complete);
}

TEST_CASE("a fixed value of the whole run, or a space, that is wrong is the run's error and no enqueued trial's") {
    Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, recovery::Fail{}};
    TwoAtOnce executor;
    store::InMemory store = store_with({});
    CHECK_THROWS_WITH(tuner.optimize(store, "s", branches, executor, {.trials = 3, .fixed = {{"x", 77.0}}}),
                      test::fixed_parameter("x", "77", "float [0, 1]"));
    const Space broken = [](SpaceTrial& trial) { trial.suggest_float("x", 2, 1); };
    store::InMemory other = store_with({{{"x", 0.5}}});
    CHECK_THROWS_WITH(tuner.optimize(other, "s", broken, executor, {.trials = 3}), Catch::Contains("expected low <= high"));
}

TEST_CASE("an enqueued trial that the guard refuses ends as infeasible, and one that leaves something open is drawn on") {
    store::InMemory store = store_with({{{"x", 0.9}, {"kind", std::string{"b"}}}, {{"kind", std::string{"b"}}}});
    Tuner tuner{sampler::Random{}, pruner::None{}, HalfFits{}, recovery::Fail{}};
    TwoAtOnce executor;
    const TuneResult result = tuner.optimize(store, "s", branches, executor, {.trials = 6});
    const Trial& refused = result.trials.at(0);
    CHECK(refused.state == TrialState::pruned);
    CHECK(refused.attempts.empty());
    CHECK_FALSE(refused.feasible());
    CHECK(refused.constraints.at("memory") == Approx(0.8));
    CHECK(refused.params.number("x") == 0.9);
    CHECK_THAT(refused.user_attributes.at("prune_reason"), Catch::StartsWith("\"oom_prevention: "));
    CHECK(result.trials.at(1).state == TrialState::complete);
    CHECK(result.trials.at(1).params.value("kind") == Value{"b"});
    for (const Trial& trial : result.trials) CHECK(is_finished(trial.state));
}

TEST_CASE("an enqueued name that the space does not ask for is told once, and so is a value that the run fixes otherwise") {
    const FixedValues values{{"x", 0.5}, {"kind", std::string{"b"}}, {"n", std::int64_t{3}}, {"learning_rate", 0.1}};
    store::InMemory store = store_with({values, values});
    Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, recovery::Fail{}};
    TwoAtOnce executor;
    LeftOutListener listener;
    (void)tuner.optimize(store, "s", branches, executor, {.trials = 4, .fixed = {{"x", 0.25}}}, listener);
    CHECK(listener.told == std::vector<std::string>{
                               "0: enqueued parameter 'x': the run fixes it at 0.25, not 0.5",
                               "0: enqueued parameter 'n': the space does not ask for it in this trial; it asks for x, kind",
                               "0: enqueued parameter 'learning_rate': the space does not ask for it in this trial; it asks for x, kind"});

    store::InMemory live = store_with({{{"x", 0.5}, {"z", 1.0}}, {{"x", 77.0}}, {{"x", 1.0}}});
    LeftOutListener live_listener;
    const TuneResult result = tuner.optimize(
        live, "s", [](LiveTrial& trial) { return trial.suggest_float("x", 0, 1); }, {.trials = 4}, live_listener);
    CHECK(live_listener.told ==
          std::vector<std::string>{"0: enqueued parameter 'z': the space does not ask for it in this trial; it asks for x"});
    CHECK(result.trials[1].state == TrialState::fail);
    CHECK_THAT(message_of(result.trials[1]), Catch::Contains(test::fixed_parameter("x", "77", "float [0, 1]")));
    CHECK(result.trials[2].values == std::vector{1.0});
    CHECK(result.trials[3].state == TrialState::complete);
}
