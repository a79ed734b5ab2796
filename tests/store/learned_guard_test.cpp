// SPDX-License-Identifier: MIT
#include "hpo/guard/calibrated.hpp"
#include "hpo/guard/calibration/model_family.hpp"
#include "hpo/guard/predicted_estimate.hpp"
#include "hpo/store/in_memory.hpp"
#include "hpo/store/sqlite.hpp"
#include "store/directions.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

using namespace hpo;
using hpo::tests::minimize;

namespace {

constexpr std::int64_t mebibyte = 1 << 20;

ParamSet params_of_trial(int number) {
    ParamSet params;
    params.set("model", CategoricalDistribution{{Value{"base"}, Value{"large"}}}, number % 2);
    return params;
}

/// A study of 30 trials whose predictions were a third too low and sometimes were found so by running out of memory.
Study learn(Store& store, const char* name) {
    const Study study = store.open_study(name, minimize, Store::Open::create);
    for (int number = 0; number < 30; ++number) {
        Trial trial = store.begin_trial(study.id, std::nullopt);
        trial.params = params_of_trial(number);
        store.set_params(trial);
        Attempt attempt;
        attempt.device_name = "a card";
        attempt.model_family = guard::model_family("t", trial.params, attempt.plan);
        attempt.capacity_bytes = 1400 * mebibyte;
        PeakPrediction prediction;
        prediction.need = prediction.comfort = 1000 * mebibyte;
        attempt.estimate = guard::predicted_estimate(prediction, 0.01);
        attempt.started = Time{std::chrono::microseconds{1'790'000'000'000'000 + number}};
        store.begin_attempt(trial, attempt);
        const bool failed = number % 5 == 0;
        attempt.outcome = failed ? OutcomeKind::failed : OutcomeKind::complete;
        if (failed) {
            attempt.failure = Failure{.kind = FailureKind::out_of_memory, .cause = OomCause::capacity};
            attempt.failure->memory.allocated = 1390 * mebibyte;
            attempt.failure->requested_bytes = 20 * mebibyte;
        } else {
            attempt.peak_allocated = (1300 + 4 * number) * mebibyte;
        }
        trial.attempts = {attempt};
        store.end_attempt(trial, attempt);
        trial.state = failed ? TrialState::pruned : TrialState::complete;
        if (!failed) trial.values = {0.5};
        store.finish(trial);
    }
    return study;
}

std::int64_t need_after(const History& history, int number) {
    PeakPrediction prediction;
    prediction.need = prediction.comfort = 500 * mebibyte;
    const ParamSet params = params_of_trial(number);
    const guard::Calibrated guard;
    return *guard.estimate({params, {}, nullptr, std::nullopt, history, &prediction, {"a card", "t"}}).need;
}

}  // namespace

TEST_CASE("what a guard has learned is in the file: a restarted study, and another one, begin with it") {
    const tests::TemporaryDirectory folder;
    const std::string path = (folder.path() / "hpo.db").string();
    store::InMemory alive;
    const Study known = learn(alive, "s");
    {
        store::Sqlite file{path};
        learn(file, "s");
    }
    store::Sqlite again{path};
    const Study study = again.open_study("s", minimize, Store::Open::resume);
    std::vector<Trial> remembered;
    alive.refresh(known.id, remembered);
    std::vector<Trial> read;
    again.refresh(study.id, read);
    REQUIRE(read.size() == 30);
    const Study other = again.open_study("other", minimize, Store::Open::create);
    const Study other_alive = alive.open_study("other", minimize, Store::Open::create);
    const auto carried = again.attempts_of_other_studies(other.id, "a card", 5000);
    const auto carried_alive = alive.attempts_of_other_studies(other_alive.id, "a card", 5000);
    CHECK(carried.size() == 30);
    for (int number = 0; number < 2; ++number) {
        const std::int64_t nothing = need_after({"s", minimize, {}, {}}, number);
        const std::int64_t learned = need_after({"s", minimize, remembered, {}}, number);
        CHECK(learned > 650 * mebibyte);
        CHECK(nothing < 650 * mebibyte);
        CHECK(need_after({"s", minimize, read, {}}, number) == learned);
        CHECK(need_after({"other", minimize, {}, {}, carried}, number) == learned);
        CHECK(need_after({"other", minimize, {}, {}, carried_alive}, number) == learned);
        CHECK(need_after({"other", minimize, {}, {}, again.attempts_of_other_studies(other.id, "another card", 5000)}, number) == nothing);
    }
}
