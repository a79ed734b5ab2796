// SPDX-License-Identifier: MIT
// What the peaks of other studies of the same program are worth to a new study of it.
#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "guard/simulated_programs.hpp"
#include "hpo/guard/calibrated.hpp"
#include "hpo/guard/learned/learned_peaks.hpp"
#include "support/catch.hpp"

namespace borrowed_peaks_test {

using namespace hpo;  // NOLINT(google-build-using-namespace): a test of many of its types
using hpo::guard::LearnedPeaks;
using hpo::guard::NamedLaw;
using hpo::tests::draw_params;
using hpo::tests::laws;

constexpr std::int64_t gib = std::int64_t{1} << 30;
using Bytes = std::function<double(const ParamSet&)>;

Trial measured(ParamSet params, double bytes) {
    Trial trial;
    trial.state = TrialState::complete;
    trial.params = std::move(params);
    Attempt& attempt = trial.attempts.emplace_back();
    attempt.device_name = "cpu";
    attempt.outcome = OutcomeKind::complete;
    attempt.peak_reserved = static_cast<std::int64_t>(bytes);
    return trial;
}

/// Trials of a study whose peaks have a noise of 5 %.
std::vector<Trial> study_of(const Bytes& bytes, int count, unsigned seed) {
    std::mt19937 random{seed};
    std::normal_distribution<double> noise{0, 0.05};
    std::vector<Trial> trials;
    for (int i = 0; i < count; ++i) {
        ParamSet params = draw_params(random);
        const double took = bytes(params) * std::exp(noise(random));
        trials.push_back(measured(std::move(params), took));
    }
    return trials;
}

/// A new study, with what it knows of others.
struct NewStudy {
    std::vector<Trial> own;
    std::vector<Trial> others;
    guard::Calibrated guard{};

    [[nodiscard]] History history() const {
        return {.study = "new", .directions = {}, .trials = own, .rejections = {}, .other_studies = {}, .same_program = others};
    }
    [[nodiscard]] Estimate estimate(const ParamSet& params, std::int64_t capacity, const std::string& device = "cpu") const {
        const History seen = history();
        const ExecutionPlan plan;
        return guard.estimate({.params = params,
                               .plan = plan,
                               .capacity_bytes = capacity,
                               .history = seen,
                               .runs_on = {device, "command"},
                               .smallest_plan = true});
    }
    [[nodiscard]] double median_of(const ParamSet& params) const {
        const History seen = history();
        const ExecutionPlan plan;
        LearnedPeaks learned;
        const auto answer = learned.ask({.params = params, .plan = plan, .history = seen, .runs_on = {"cpu", "command"}});
        REQUIRE(answer.knowledge == LearnedPeaks::Knowledge::enough);
        return std::exp(answer.log_bytes.mean);
    }
};

TEST_CASE("the first attempts of a new study of a known program reserve little more than they need") {
    for (const auto& [name, law] : laws()) {
        INFO(name);
        const NewStudy study{.own = {}, .others = study_of(law, 40, 1)};
        std::mt19937 random{9};
        double reserved = 0, needed = 0;
        int too_little = 0;
        for (int i = 0; i < 40; ++i) {
            const ParamSet params = draw_params(random);
            const Estimate estimate = study.estimate(params, 100 * gib);
            REQUIRE(estimate.need);
            CHECK(estimate.source == "learned");
            too_little += static_cast<double>(*estimate.need) < law(params) ? 1 : 0;
            reserved += static_cast<double>(*estimate.need);
            needed += law(params);
        }
        CHECK(too_little <= 1);
        CHECK(reserved < 1.7 * needed);
    }
}

TEST_CASE("what was measured on another device, or too rarely, is not borrowed") {
    std::mt19937 random{9};
    const ParamSet params = draw_params(random);
    const NewStudy few{.own = {}, .others = study_of(laws()[0].bytes, 7, 1)};
    CHECK(few.estimate(params, gib).source == "alone");
    const NewStudy many{.own = {}, .others = study_of(laws()[0].bytes, 8, 1)};
    CHECK(many.estimate(params, gib).source == "learned");
    CHECK(many.estimate(params, gib, "gpu").source == "alone");
}

TEST_CASE("a guard that does not carry does not ask for other studies, and one that does begins with them") {
    CHECK_FALSE(guard::Calibrated{{.carry = false}}.carries());
    CHECK(guard::Calibrated{}.carries());
}

TEST_CASE("borrowed peaks refuse nothing before the study has tried one attempt itself") {
    const Bytes law = laws()[0].bytes;
    NewStudy study{.own = {}, .others = study_of(law, 40, 1)};
    std::mt19937 random{9};
    ParamSet large = draw_params(random);
    while (*large.number("batch") < 128) large = draw_params(random);
    ParamSet small = draw_params(random);
    while (*small.number("batch") > 16) small = draw_params(random);
    const auto capacity = static_cast<std::int64_t>(law(large) / 2);
    CHECK(study.estimate(large, capacity).need == capacity);
    CHECK(*study.estimate(small, capacity).need < capacity);
    // One that runs, and one that failed without a peak, have told nothing.
    Trial running = measured(small, 0);
    running.state = TrialState::running;
    running.attempts.back().outcome.reset();
    running.attempts.back().peak_reserved.reset();
    running.attempts.back().estimate = study.estimate(small, capacity);
    study.own.push_back(running);
    CHECK(study.estimate(large, capacity).need == capacity);
    study.own.back().state = TrialState::fail;
    study.own.back().attempts.back().outcome = OutcomeKind::failed;
    CHECK(study.estimate(large, capacity).need == capacity);
    study.own.push_back(measured(small, law(small)));
    CHECK(*study.estimate(large, capacity).need > capacity);
}

TEST_CASE("a new version of the program that takes a little more is followed after a few attempts") {
    const Bytes law = laws()[1].bytes;
    const Bytes now = [&](const ParamSet& params) { return 1.15 * law(params); };
    const auto median_error = [&](const std::vector<Trial>& own, const std::vector<Trial>& others) {
        const NewStudy study{.own = own, .others = others};
        std::mt19937 random{9};
        std::vector<double> errors;
        for (int i = 0; i < 40; ++i) {
            const ParamSet params = draw_params(random);
            errors.push_back(std::abs(study.median_of(params) / now(params) - 1));
        }
        std::sort(errors.begin(), errors.end());
        return errors[20];
    };
    const auto others = study_of(law, 40, 1);
    const double before = median_error({}, others), after = median_error(study_of(now, 8, 2), others);
    const double without = median_error(study_of(now, 8, 2), {});
    INFO(before << ", after 8 attempts " << after << ", without the other study " << without);
    CHECK(before > 0.1);
    CHECK(after < 0.06);
    CHECK(after < without);
}

TEST_CASE("a program that takes twice as much as before is learned anew, with attempts that have the device alone") {
    const Bytes law = laws()[1].bytes;
    const Bytes now = [&](const ParamSet& params) { return 2 * law(params); };
    NewStudy study{.own = study_of(now, 1, 2), .others = study_of(law, 40, 1)};
    std::mt19937 random{9};
    const ParamSet params = draw_params(random);
    CHECK(study.estimate(params, 100 * gib).source == "alone");
    study.own = study_of(now, 12, 2);
    const double with = study.median_of(params);
    study.others.clear();
    CHECK(study.median_of(params) == with);
}

TEST_CASE("an attempt that ran out of memory above what was borrowed also says that the program has changed") {
    const Bytes law = laws()[0].bytes;
    NewStudy study{.own = {}, .others = study_of(law, 40, 1)};
    std::mt19937 random{9};
    const ParamSet params = draw_params(random);
    const auto refused_at = [&](double bytes) {
        Trial trial = measured(params, 0);
        trial.state = TrialState::fail;
        Attempt& attempt = trial.attempts.back();
        attempt.peak_reserved.reset();
        attempt.outcome = OutcomeKind::failed;
        attempt.failure = Failure{.kind = FailureKind::out_of_memory, .message = "out of memory", .cause = OomCause::capacity};
        attempt.failure->memory.capacity = static_cast<std::int64_t>(bytes);
        return trial;
    };
    study.own = {refused_at(0.9 * law(params))};
    CHECK(study.estimate(params, 100 * gib).source == "learned");
    study.own = {refused_at(1.5 * law(params))};
    CHECK(study.estimate(params, 100 * gib).source == "alone");
}

TEST_CASE("choices are told apart by their values, and trials with a parameter that the study does not have are left out") {
    const auto params_of = [](const std::vector<Value>& choices, const std::string& kind, const char* size_name, int size) {
        ParamSet params;
        const auto place = std::find(choices.begin(), choices.end(), Value{kind}) - choices.begin();
        params.set("kind", CategoricalDistribution{choices}, static_cast<double>(place));
        params.set(size_name, IntDistribution{.low = 1, .high = 64}, size);
        return params;
    };
    const auto took = [](const std::string& kind, int size) { return (kind == "a" ? 100.0 : 500.0) * 1e6 + 1e6 * size; };
    NewStudy study;
    for (int i = 0; i < 20; ++i) {
        const std::string kind = i % 2 == 0 ? "a" : "b";
        study.others.push_back(measured(params_of({std::string{"a"}, std::string{"b"}}, kind, "size", 1 + i * 3), took(kind, 1 + i * 3)));
        study.others.push_back(measured(params_of({std::string{"a"}, std::string{"b"}}, kind, "gone", 1 + i * 3), 5e9));
    }
    const std::vector<Value> other_order{std::string{"b"}, std::string{"a"}, std::string{"c"}};
    for (int size : {5, 20, 50}) {
        CHECK(study.median_of(params_of(other_order, "a", "size", size)) == Approx(took("a", size)).epsilon(0.05));
        CHECK(study.median_of(params_of(other_order, "b", "size", size)) == Approx(took("b", size)).epsilon(0.05));
    }
    study.own.push_back(measured(params_of(other_order, "b", "size", 9), took("b", 9)));
    CHECK(study.median_of(params_of(other_order, "a", "size", 9)) == Approx(took("a", 9)).epsilon(0.05));
}

TEST_CASE("a law that is learned from other studies says so") {
    const auto others = study_of(laws()[0].bytes, 24, 1);
    const auto own = study_of(laws()[0].bytes, 5, 2);
    const auto words = [&](const std::vector<Trial>& trials) {
        const NewStudy study{.own = trials, .others = others};
        const NamedLaw law = LearnedPeaks{}.law(study.history(), "cpu");
        CHECK(law.borrowed == 24);
        CHECK(law.attempts == trials.size());
        return in_words(law);
    };
    CHECK_THAT(words({}), Catch::Contains("for each example of batch (from 24 attempts of other studies; typical error "));
    CHECK_THAT(words(own), Catch::Contains("for each example of batch (from 5 attempts and 24 of other studies; typical error "));
}

}  // namespace borrowed_peaks_test
