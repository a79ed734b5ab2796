// SPDX-License-Identifier: MIT
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hpo/guard/unlimited.hpp"
#include "hpo/pruner/none.hpp"
#include "hpo/recovery/fail.hpp"
#include "hpo/sampler/random.hpp"
#include "hpo/sampler/tpe.hpp"
#include "hpo/store/in_memory.hpp"
#include "hpo/store/retries.hpp"
#include "hpo/store/sqlite.hpp"
#include "hpo/store/sqlite/distribution_json.hpp"
#include "hpo/tuner.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

using namespace hpo;
using Catch::Contains;

namespace {

constexpr const char* learning_rate =
    R"({"name": "FloatDistribution", "attributes": {"low": 1e-5, "high": 0.1, "log": true, "step": null}})";
constexpr const char* layers = R"({"name": "IntDistribution", "attributes": {"low": 1, "high": 8, "log": false, "step": 1}})";
constexpr const char* fewer_layers = R"({"name": "IntDistribution", "attributes": {"low": 1, "high": 2, "log": false, "step": 1}})";
constexpr const char* model = R"({"name": "CategoricalDistribution", "attributes": {"choices": ["svc", "forest"]}})";
constexpr const char* other_models = R"({"name": "CategoricalDistribution", "attributes": {"choices": ["svc", "tree"]}})";

/// Runs a program that asks for its parameters.
class Asking final : public Executor {
public:
    /// What a program sees of its trial.
    struct Trial {
        const Job& job;
        ExecutorEvents& events;
        Value operator()(const std::string& name, const std::string& distribution) const {
            const Suggestion answer = events.on(job.trial, hpo::Question{name, distribution}).suggestion;
            if (!answer.error.empty()) throw std::runtime_error{answer.error};
            return answer.value;
        }
    };
    explicit Asking(std::function<double(const Trial&)> program) : program_{std::move(program)} {}

    [[nodiscard]] std::size_t free_slots() const override { return 1; }
    void submit(const Job& job, ExecutorEvents& events) override {
        launched[job.trial] = job.params;
        events.on(job.trial, hpo::AttemptStarted{0});
        AttemptOutcome outcome;
        try {
            outcome.values = {program_(Trial{job, events})};
            outcome.kind = OutcomeKind::complete;
        } catch (const std::exception& error) {
            outcome.failure = Failure{.kind = FailureKind::trainer_error, .message = error.what()};
        }
        events.on(job.trial, std::move(outcome));
    }
    void wait(ExecutorEvents&, double) override {}
    void interrupt() override {}
    [[nodiscard]] std::optional<std::int64_t> capacity_bytes() const override { return {}; }

    std::map<std::int64_t, ParamSet> launched;

private:
    std::function<double(const Trial&)> program_;
};

std::vector<std::string> names(const ParamSet& params) {
    std::vector<std::string> all;
    for (const Param& param : params) all.push_back(param.name);
    return all;
}

template <class S = sampler::Random>
TuneResult run(Store& store, Executor& executor, std::int64_t trials, S sampler = {}) {
    Tuner tuner{std::move(sampler), pruner::None{}, guard::Unlimited{}, recovery::Fail{}};
    const Space nothing = [](SpaceTrial&) {};
    return tuner.optimize(store, "study", nothing, executor, {.trials = trials, .seed = 1, .read_distribution = store::parse_distribution});
}

double number(const Value& value) {
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
    return *std::get_if<double>(&value);
}

double value_of_branch(const Asking::Trial& trial) {
    const bool is_svc = display_text(trial("model", model)) == "svc";
    return is_svc ? number(trial("rate", learning_rate)) : number(trial("layers", layers));
}

}  // namespace

TEST_CASE("a trial asks for its parameters while it runs, and later ones are launched with them") {
    store::InMemory store;
    Asking executor{value_of_branch};
    const TuneResult result = run(store, executor, 40);
    CHECK(executor.launched.at(0).empty());
    int expected_all = 0;
    for (const Trial& trial : result.trials) {
        REQUIRE(trial.state == TrialState::complete);
        const bool is_svc = display_text(*trial.params.value("model")) == "svc";
        CHECK(names(trial.params) == (is_svc ? std::vector<std::string>{"model", "rate"} : std::vector<std::string>{"model", "layers"}));
        CHECK(trial.values.at(0) == number(trial.params.begin()[1].value()));
        expected_all += executor.launched.at(trial.number) == trial.params ? 1 : 0;
    }
    // Only the first trial, and the first one of the other branch, ask for something that nobody expected.
    CHECK(expected_all == 38);
}

TEST_CASE("what is drawn before launch is what is drawn on a question") {
    store::InMemory expecting, asking;
    Asking executor{[](const Asking::Trial& trial) { return number(trial("rate", learning_rate)) + number(trial("layers", layers)); }};
    const TuneResult expected = run(expecting, executor, 30, sampler::Tpe{});
    Tuner tuner{sampler::Tpe{}, pruner::None{}, guard::Unlimited{}, recovery::Fail{}};
    const TuneResult live = tuner.optimize(asking, "study",
                                           [](LiveTrial& trial) {
                                               const double rate = trial.suggest_float("rate", 1e-5, 0.1, {.log = true});
                                               return rate + static_cast<double>(trial.suggest_int("layers", 1, 8));
                                           },
                                           {.trials = 30, .seed = 1});
    for (std::size_t i = 0; i < 30; ++i) CHECK(expected.trials[i].params == live.trials[i].params);
}

TEST_CASE("the store has what a trial asked for, in a file that is read again") {
    const tests::TemporaryDirectory folder;
    const std::string path = (folder.path() / "s.db").string();
    Asking executor{value_of_branch};
    {
        store::Sqlite store{path};
        (void)run(store, executor, 12);
    }
    store::Sqlite store{path};
    std::vector<Trial> trials;
    store.refresh(store.studies().at(0).id, trials);
    REQUIRE(trials.size() == 12);
    for (const Trial& trial : trials) CHECK(trial.params.size() == 2);
    (void)run(store, executor, 20);  // goes on: from the first trial on, parameters are expected
    CHECK(executor.launched.at(12).size() == 2);
}

TEST_CASE("a question that the study cannot have is an error of the trial that asks it") {
    store::InMemory store;
    int begun = 0;
    std::string distribution;
    Asking executor{[&](const Asking::Trial& trial) {
        if (begun++ == 0) return display_text(trial("model", model)) == "svc" ? 1.0 : 2.0;
        (void)trial("model", distribution);
        return 1.0;
    }};
    const auto message = [&](const std::string& text) {
        distribution = text;
        const TuneResult result = run(store, executor, begun == 0 ? 2 : static_cast<std::int64_t>(begun) + 1);
        REQUIRE(result.trials.back().state == TrialState::fail);
        return result.trials.back().attempts.back().failure->message;
    };
    CHECK_THAT(message(other_models), Contains("parameter 'model'") && Contains("where other trials have one of svc, forest"));
    CHECK_THAT(message(learning_rate), Contains("where other trials have one of svc, forest"));
    CHECK_THAT(message("{"), Contains("parameter 'model'"));
    CHECK_THAT(message(R"({"name": "FloatDistribution", "attributes": {"low": 2, "high": 1, "log": false, "step": null}})"),
               Contains("low"));
}

TEST_CASE("a range may change from trial to trial") {
    store::InMemory store;
    int begun = 0;
    Asking executor{[&](const Asking::Trial& trial) { return number(trial("layers", begun++ % 2 == 0 ? layers : fewer_layers)); }};
    const TuneResult result = run(store, executor, 20);
    for (const Trial& trial : result.trials) {
        CAPTURE(trial.number, trial.attempts.back().failure ? trial.attempts.back().failure->message : "");
        CHECK(trial.state == TrialState::complete);
        CHECK(contains(*trial.params.begin()->distribution, trial.params.begin()->internal));
        CHECK(std::get_if<IntDistribution>(trial.params.begin()->distribution.get())->high == (trial.number % 2 == 0 ? 8 : 2));
    }
}

TEST_CASE("the same name gives the same value again, and an enqueued one its value") {
    store::InMemory store;
    const Study study = store.open_study("study", std::vector{Direction::minimize}, Store::Open::create_or_resume);
    store.enqueue(study.id, {{"layers", std::int64_t{7}}});
    store.enqueue(study.id, {{"layers", std::int64_t{70}}});
    Asking executor{[](const Asking::Trial& trial) {
        const double first = number(trial("layers", layers));
        CHECK(number(trial("layers", fewer_layers)) == first);
        return first;
    }};
    const TuneResult result = run(store, executor, 3);
    CHECK(result.trials.at(0).values == std::vector<double>{7});
    CHECK(result.trials.at(1).values == std::vector<double>{70});  // outside of its range, as Optuna would have it
    CHECK(result.trials.at(2).state == TrialState::complete);
}

TEST_CASE("a study whose parameters are known before launch answers no question") {
    store::InMemory store;
    Asking executor{[](const Asking::Trial& trial) { return number(trial("other", layers)); }};
    Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, recovery::Fail{}};
    const Space space = [](SpaceTrial& trial) { trial.suggest_int("layers", 1, 8); };
    const TuneResult result = tuner.optimize(store, "study", space, executor, {.trials = 1});
    CHECK_THAT(result.trials.at(0).attempts.at(0).failure->message, Contains("are known before an attempt runs"));
}

namespace {

/// Draws as a program's own sampler does: it may raise, or leave the range.
struct OfTheProgram {
    double suggest(const Ask& ask) {
        if (ask.name == "layers") throw NoSuggestion{"ValueError: no layers"};
        return ask.trial.asker == Asker::space ? 0.01 : 7;
    }
};

}  // namespace

TEST_CASE("a program is told that a sampler raised when it asks for the parameter, and only then") {
    store::InMemory store;
    Asking executor{[](const Asking::Trial& trial) {
        const double rate = number(trial("rate", learning_rate));
        if (trial.job.trial != 1) return rate;
        CHECK_THROWS_WITH(trial("layers", layers), "ValueError: no layers");
        return rate + 1;
    }};
    const TuneResult result = run(store, executor, 3, OfTheProgram{});
    REQUIRE(result.trials.size() == 3);
    for (const Trial& trial : result.trials) {
        CHECK(trial.state == TrialState::complete);
        CHECK(names(trial.params) == std::vector<std::string>{"rate"});
        CHECK(number(*trial.params.value("rate")) == 7);  // outside of its range, as Optuna would have it
    }
    CHECK(names(executor.launched.at(2)) == std::vector<std::string>{"rate"});
}

TEST_CASE("an enqueued number outside of its range is used, and another kind is told when it is asked for") {
    store::InMemory store;
    Asking executor{[](const Asking::Trial& trial) { return number(trial("layers", layers)) + number(trial("rate", learning_rate)); }};
    (void)run(store, executor, 2);
    const std::int64_t study = store.studies().at(0).id;
    (void)store.enqueue(study, {{"layers", Value{std::int64_t{12}}}});
    (void)store.enqueue(study, {{"layers", Value{"many"}}});
    const TuneResult result = run(store, executor, 4);
    REQUIRE(result.trials.size() == 4);
    CHECK(result.trials[2].state == TrialState::complete);
    CHECK(result.trials[2].params.whole_number("layers") == 12);
    CHECK(executor.launched.at(2).whole_number("layers") == 12);
    CHECK(result.trials[3].state == TrialState::fail);
    CHECK_THAT(result.trials[3].attempts.at(0).failure->message, Contains("fixed parameter 'layers'"));
}
