// SPDX-License-Identifier: MIT
#include "hpo/guard/calibrated.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "guard/calibration/risk_budget.hpp"
#include "hpo/core/seed.hpp"
#include "hpo/guard/admission.hpp"
#include "hpo/guard/calibration/model_family.hpp"
#include "hpo/guard/predicted_estimate.hpp"
#include "support/catch.hpp"

using namespace hpo;
using guard::Calibrated;

namespace {

constexpr std::int64_t mebibyte = 1 << 20;

ParamSet of_model(const std::string& name) {
    ParamSet params;
    params.set("model", CategoricalDistribution{{Value{"base"}, Value{"large"}}}, name == "base" ? 0 : 1);
    params.set("batch", CategoricalDistribution{{Value{std::int64_t{8}}, Value{std::int64_t{64}}}}, 1);
    return params;
}

PeakPrediction predicted(std::int64_t need, std::int64_t comfort = 0) {
    PeakPrediction prediction;
    prediction.need = need;
    prediction.comfort = std::max(need, comfort);
    return prediction;
}

/// What a guard tells of `need` bytes predicted for a model, after `trials`.
Estimate ask(const Calibrated& guard, const std::vector<Trial>& trials, const std::string& model, std::int64_t need,
             const ExecutionPlan& plan = {}) {
    const ParamSet params = of_model(model);
    const PeakPrediction prediction = predicted(need);
    return guard.estimate({params, plan, nullptr, std::nullopt, History{"study", {}, trials, {}}, &prediction});
}

struct Took {
    std::string model = "base";
    std::int64_t predicted = 1000 * mebibyte;
    std::int64_t bytes = 1000 * mebibyte;  ///< or, out of memory, held and asked for
    bool out_of_memory = false;
    OomCause cause = OomCause::capacity;
};

/// A finished trial of one attempt whose need a guard had predicted by a dry run.
Trial finished(std::int64_t number, const Took& took) {
    Trial trial;
    trial.number = number;
    trial.id = number + 1;
    trial.params = of_model(took.model);
    trial.state = took.out_of_memory ? TrialState::pruned : TrialState::complete;
    Attempt attempt;
    attempt.estimate = guard::predicted_estimate(predicted(took.predicted), 0);
    attempt.outcome = took.out_of_memory ? OutcomeKind::failed : OutcomeKind::complete;
    if (took.out_of_memory) {
        attempt.failure = Failure{.kind = FailureKind::out_of_memory, .cause = took.cause};
        attempt.failure->memory.allocated = took.bytes - mebibyte;
        attempt.failure->requested_bytes = mebibyte;
    } else {
        attempt.peak_allocated = took.bytes;
    }
    trial.attempts.push_back(std::move(attempt));
    return trial;
}

double ratio(const Estimate& estimate, std::int64_t predicted) {
    return static_cast<double>(*estimate.need) / static_cast<double>(predicted);
}

}  // namespace

TEST_CASE("before anything was measured the estimate is the prediction with the margin of its source") {
    const Calibrated guard;
    const Estimate estimate = ask(guard, {}, "base", 1000 * mebibyte);
    CHECK(estimate.source == "dry_run");
    CHECK(estimate.confidence == Approx(0.99));
    CHECK(ratio(estimate, 1000 * mebibyte) > 1.03);
    CHECK(ratio(estimate, 1000 * mebibyte) < 1.25);
    REQUIRE(estimate.parts.size() == 2);
    CHECK(estimate.parts[0] == EstimatePart{"predicted", 1000 * mebibyte});
    CHECK(estimate.parts[1] == EstimatePart{"margin", *estimate.need - 1000 * mebibyte});
    CHECK(guard::bare_need(estimate) == 1000 * mebibyte);
    CHECK(guard.evidence() == Evidence::dry_run);

    Profile profile;
    profile.weight_bytes = 1000 * mebibyte;
    const ParamSet params;
    const Estimate by_formula = guard.estimate({params, {}, &profile, std::nullopt, History{}});
    CHECK(by_formula.source == "formula");
    CHECK(guard::bare_need(by_formula) == 1000 * mebibyte);
    CHECK(ratio(by_formula, 1000 * mebibyte) > ratio(estimate, 1000 * mebibyte));
    CHECK_FALSE(guard.estimate({params, {}, nullptr, std::nullopt, History{}}).need);
}

TEST_CASE("predictions that are always wrong by a factor are corrected by it, upwards and downwards") {
    for (const double factor : {0.5, 1.0, 1.3, 2.0}) {
        const Calibrated guard;
        std::vector<Trial> trials;
        for (std::int64_t i = 0; i < 25; ++i) {
            const std::int64_t need = (500 + 10 * i) * mebibyte;
            trials.push_back(finished(i, {.predicted = need, .bytes = static_cast<std::int64_t>(factor * static_cast<double>(need))}));
        }
        const Estimate estimate = ask(guard, trials, "base", 1000 * mebibyte);
        INFO("factor " << factor);
        CHECK(ratio(estimate, 1000 * mebibyte) >= factor);
        CHECK(ratio(estimate, 1000 * mebibyte) < factor * 1.12);
        CHECK((estimate.parts.back().bytes < 0) == (factor < 0.9));
        CHECK(*estimate.comfort >= *estimate.need);
    }
}

TEST_CASE("another model family starts from what the first has shown") {
    const Calibrated guard;
    std::vector<Trial> trials;
    for (std::int64_t i = 0; i < 25; ++i) trials.push_back(finished(i, {.bytes = 1300 * mebibyte}));
    const double unseen = ratio(ask(guard, trials, "large", 1000 * mebibyte), 1000 * mebibyte);
    CHECK(unseen > ratio(ask(guard, trials, "base", 1000 * mebibyte), 1000 * mebibyte));
    for (std::int64_t i = 25; i < 50; ++i) trials.push_back(finished(i, {.model = "large"}));
    CHECK(ratio(ask(guard, trials, "large", 1000 * mebibyte), 1000 * mebibyte) < 1.12);
    CHECK(ratio(ask(guard, trials, "base", 1000 * mebibyte), 1000 * mebibyte) > 1.25);
    ExecutionPlan half;
    half.precision = Precision::bf16;
    CHECK(guard::residual_group("probe", {}, of_model("large"), half).family == "bf16 model=large");
    half.device = "cuda:1";
    half.activation_checkpointing = true;
    CHECK(guard::residual_group("probe", {}, of_model("large"), half).pool == "probe cuda");
    CHECK(guard::residual_group("probe", {"a card", "t"}, of_model("large"), half).family == "t bf16 checkpointing model=large");
    CHECK(guard::residual_group("probe", {"a card", "t"}, of_model("large"), half).pool == "probe a card");
}

TEST_CASE("an out-of-memory says that the attempt needs more than it had, unless something else took the memory") {
    const Trial failed = finished(0, {.bytes = 1200 * mebibyte, .out_of_memory = true});
    const auto residual = guard::residual_of(failed, failed.attempts[0]);
    REQUIRE(residual);
    CHECK(residual->censored);
    CHECK(residual->log_ratio == Approx(std::log(1.2)));
    for (const OomCause cause : {OomCause::neighbour, OomCause::leak, OomCause::fragmentation, OomCause::host}) {
        const Trial other = finished(0, {.out_of_memory = true, .cause = cause});
        CHECK_FALSE(guard::residual_of(other, other.attempts[0]));
    }

    const Calibrated guard;
    std::vector<Trial> trials;
    for (std::int64_t i = 0; i < 5; ++i) trials.push_back(finished(i, {}));
    const double before = ratio(ask(guard, trials, "base", 1000 * mebibyte), 1000 * mebibyte);
    for (std::int64_t i = 5; i < 8; ++i) trials.push_back(finished(i, {.bytes = 1200 * mebibyte, .out_of_memory = true}));
    CHECK(ratio(ask(guard, trials, "base", 1000 * mebibyte), 1000 * mebibyte) > std::max(before, 1.2));
}

TEST_CASE("memory that earlier trials leaked is no need of a trial, and teaches a guard nothing") {
    const auto leaking = [](std::int64_t i, std::int64_t held, Took took) {
        took.bytes += held * mebibyte;
        Trial trial = finished(i, took);
        MemoryMark start{.name = "trial_start", .step = std::nullopt, .reading = {}};
        start.reading.allocated = held * mebibyte;
        trial.attempts[0].memory.push_back(start);
        return trial;
    };
    const Calibrated guard;
    const Calibrated of_leaks;
    std::vector<Trial> honest;
    std::vector<Trial> leaks;  // a worker keeps 100 MiB of each trial, and is replaced after ten
    for (std::int64_t i = 0; i < 40; ++i) {
        const Took took{.predicted = (200 + 20 * (i % 8)) * mebibyte, .bytes = (200 + 20 * (i % 8)) * mebibyte};
        honest.push_back(finished(i, took));
        leaks.push_back(leaking(i, 100 * (i % 10), took));
    }
    CHECK(ask(of_leaks, leaks, "base", 300 * mebibyte).need == ask(guard, honest, "base", 300 * mebibyte).need);

    // Nor does an out-of-memory tell that the configuration needs what was leaked.
    const Trial failed = leaking(40, 500, {.bytes = 1200 * mebibyte, .out_of_memory = true});
    CHECK(guard::least_need(failed.attempts[0]) == 1200 * mebibyte);
    CHECK(guard::residual_of(failed, failed.attempts[0])->log_ratio == Approx(std::log(1.2)));

    // An out-of-memory bounds the need from below, whatever was held.
    const Trial other = leaking(41, 500, {.bytes = 900 * mebibyte, .out_of_memory = true});
    CHECK(guard::residual_of(other, other.attempts[0])->log_ratio == Approx(std::log(0.9)));
}

TEST_CASE("memory from before an attempt may be no need of it, so it makes no prediction wrong") {
    const auto residual = [](std::int64_t held, std::int64_t predicted, std::int64_t peak) {
        Trial trial = finished(0, {.predicted = predicted * mebibyte, .bytes = peak * mebibyte});
        MemoryMark start{.name = "trial_start", .step = std::nullopt, .reading = {}};
        start.reading.allocated = held * mebibyte;
        trial.attempts[0].memory.push_back(start);
        return guard::residual_of(trial, trial.attempts[0])->log_ratio;
    };
    CHECK(residual(80, 300, 300) == 0);                              // libraries' workspaces, predicted in each attempt
    CHECK(residual(80, 220, 300) == 0);                              // the same bytes, left by a leak
    CHECK(residual(24, 30, 49) == 0);                                // data that the trainer keeps on purpose
    CHECK(residual(8, 8, 8) == 0);                                   // a buffer that was released, and taken again
    CHECK(residual(80, 200, 300) == Approx(std::log(220.0 / 200)));  // too low, whoever held the 80
    CHECK(residual(80, 400, 300) == Approx(std::log(300.0 / 400)));  // too high, whoever held them

    // One such attempt does not refuse what has just run.
    const Calibrated guard;
    std::vector<Trial> trials{finished(0, {.predicted = 8 * mebibyte, .bytes = 8 * mebibyte})};
    MemoryMark start{.name = "trial_start", .step = std::nullopt, .reading = {}};
    start.reading.allocated = 8 * mebibyte - 1024;
    trials[0].attempts[0].memory.push_back(start);
    CHECK(ratio(ask(guard, trials, "base", 8 * mebibyte), 8 * mebibyte) < 1.5);
}

TEST_CASE("the room that was not enough bounds the need where the failure does not say what was asked for") {
    Attempt attempt;
    attempt.capacity_bytes = 700;
    attempt.failure = Failure{.kind = FailureKind::out_of_memory, .cause = OomCause::unknown};
    CHECK(guard::least_need(attempt) == 700);
    attempt.failure->memory.capacity = 800;
    CHECK(guard::least_need(attempt) == 800);
    attempt.failure->memory.reserved = 500;
    attempt.failure->memory.free = 250;
    CHECK(guard::least_need(attempt) == 750);
    attempt.failure->memory.allocated = 450;
    attempt.failure->requested_bytes = 400;
    CHECK(guard::least_need(attempt) == 850);
    attempt.failure->cause = OomCause::limit;
    attempt.failure->memory.limit = 900;
    CHECK(guard::least_need(attempt) == 900);
    attempt.failure->kind = FailureKind::crash;
    CHECK_FALSE(guard::least_need(attempt));
}

TEST_CASE("a recovered trial tells twice") {
    Trial trial = finished(0, {.bytes = 1200 * mebibyte, .out_of_memory = true});
    trial.attempts.push_back(finished(0, {.predicted = 500 * mebibyte, .bytes = 550 * mebibyte}).attempts[0]);
    CHECK(guard::residual_of(trial, trial.attempts[0])->censored);
    const auto second = guard::residual_of(trial, trial.attempts[1]);
    CHECK_FALSE(second->censored);
    CHECK(second->log_ratio == Approx(std::log(1.1)));
}

TEST_CASE("what a process keeps after an attempt may be no need of it, so it makes no prediction wrong") {
    const auto trial_that_keeps = [](std::int64_t kept, Took took) {
        Trial trial = finished(0, took);
        MemoryMark end{"end", 1, std::nullopt, {}};
        end.reading.allocated = kept * mebibyte;
        trial.attempts[0].memory = {end};
        return trial;
    };
    const auto residual = [&](std::int64_t kept, Took took) {
        const Trial trial = trial_that_keeps(kept, took);
        return guard::residual_of(trial, trial.attempts[0])->log_ratio;
    };
    CHECK(residual(20, {.predicted = 2 * mebibyte, .bytes = 22 * mebibyte}) == 0);  // data that the trainer keeps on purpose
    CHECK(residual(20, {.predicted = 2 * mebibyte, .bytes = 25 * mebibyte}) == Approx(std::log(5.0 / 2)));
    CHECK(residual(20, {.predicted = 50 * mebibyte, .bytes = 25 * mebibyte}) == Approx(-std::log(2)));
    CHECK(residual(1, {.predicted = 10 * mebibyte, .bytes = 11 * mebibyte}) == Approx(std::log(1.1)));  // too little to count
    // One that leaks all that it takes ran out of memory: what it asked for last is all that is known of its need.
    Trial failed = trial_that_keeps(990, {.predicted = 500 * mebibyte, .bytes = 1200 * mebibyte, .out_of_memory = true});
    CHECK(guard::least_need(failed.attempts[0]) == 210 * mebibyte);
    failed.attempts[0].memory.clear();
    CHECK(guard::least_need(failed.attempts[0]) == 1200 * mebibyte);

    // A trainer that keeps 20 MiB is not refused larger configurations for it.
    const Calibrated guard;
    std::vector<Trial> trials;
    for (std::int64_t i = 0; i < 10; ++i) {
        trials.push_back(trial_that_keeps(20, {.predicted = (2 + i) * mebibyte, .bytes = (22 + i) * mebibyte}));
        trials.back().number = i;
    }
    CHECK(ratio(ask(guard, trials, "base", 40 * mebibyte), 40 * mebibyte) < 1.2);
}

TEST_CASE("a measurement between what is required and what keeps the cache confirms the prediction") {
    Trial trial = finished(0, {});
    Attempt& attempt = trial.attempts[0];
    attempt.estimate = guard::predicted_estimate(predicted(1000, 1500), 0);
    const auto residual = [&](std::int64_t allocated, std::int64_t reserved) {
        attempt.peak_allocated = allocated;
        attempt.peak_reserved = reserved;
        return guard::residual_of(trial, attempt)->log_ratio;
    };
    CHECK(residual(900, 1400) == 0);
    CHECK(residual(900, 1500) == 0);
    CHECK(residual(900, 3000) == Approx(std::log(2)));
    CHECK(residual(400, 500) == Approx(-std::log(2)));
    // What is outside the allocator is predicted, and never measured.
    attempt.estimate->parts = {{"activations", 600}, {"context", 400}};
    CHECK(residual(600, 600) == 0);
    CHECK(residual(2600, 2600) == Approx(std::log(2)));
    attempt.outcome = OutcomeKind::interrupted;
    CHECK_FALSE(guard::residual_of(trial, attempt));
}

TEST_CASE("the guard's own margin is not held against the prediction") {
    const Calibrated guard;
    std::vector<Trial> trials;
    for (std::int64_t i = 0; i < 30; ++i) {
        Trial trial = finished(i, {.bytes = 1250 * mebibyte});
        trial.attempts[0].estimate = ask(guard, trials, "base", 1000 * mebibyte);
        CHECK(guard::residual_of(trial, trial.attempts[0])->log_ratio == Approx(std::log(1.25)));
        trials.push_back(trial);
    }
}

TEST_CASE("a guard that has seen a study grow answers as one that reads it whole") {
    Rng rng = Seed{11}.rng();
    const Calibrated growing;
    std::vector<Trial> trials;
    for (std::int64_t number = 0; number < 120; ++number) {
        Trial running = finished(number, {.model = rng.below(2) == 0 ? "base" : "large",
                                          .bytes = static_cast<std::int64_t>((900 + rng.below(300)) * mebibyte),
                                          .out_of_memory = rng.below(5) == 0});
        running.state = TrialState::running;
        if (rng.below(2) == 0) running.attempts[0].outcome.reset();
        trials.push_back(running);
        for (Trial& trial : trials) {  // in any order
            if (trial.state != TrialState::running || rng.below(3) != 0) continue;
            trial.state = TrialState::complete;
            trial.attempts[0].outcome = trial.attempts[0].failure ? OutcomeKind::failed : OutcomeKind::complete;
        }
        const Calibrated fresh;
        for (const char* model : {"base", "large"}) {
            CHECK(ask(growing, trials, model, mebibyte << 10).need == ask(fresh, trials, model, mebibyte << 10).need);
        }
    }
    // And another study, or the same with another past, is read from its beginning.
    const std::vector<Trial> other{finished(0, {.bytes = 2000 * mebibyte}), finished(1, {.bytes = 2000 * mebibyte})};
    CHECK(ask(growing, other, "base", mebibyte << 10).need == ask(Calibrated{}, other, "base", mebibyte << 10).need);
    CHECK(ask(growing, {}, "base", mebibyte << 10).need == ask(Calibrated{}, {}, "base", mebibyte << 10).need);
}

TEST_CASE("what other studies measured on the device is learned before the study's own attempts") {
    std::vector<Attempt> elsewhere;
    for (std::int64_t i = 0; i < 25; ++i) {
        Attempt attempt = finished(i, {.bytes = 1300 * mebibyte}).attempts[0];
        attempt.device_name = "a card";
        attempt.model_family = "t fp32 model=base";
        attempt.started = Time{std::chrono::microseconds{i}};
        elsewhere.push_back(attempt);
    }
    const auto after = [&](const Calibrated& guard, const RunsOn& runs_on, const std::vector<Attempt>& past,
                           const std::vector<Trial>& own) {
        const ParamSet params = of_model("base");
        const PeakPrediction prediction = predicted(1000 * mebibyte);
        const History history{"study", {}, own, {}, past};
        return ratio(guard.estimate({params, {}, nullptr, std::nullopt, history, &prediction, runs_on}), 1000 * mebibyte);
    };
    const Calibrated guard;
    const double first = after(guard, {"a card", "t"}, {}, {});
    const double carried = after(guard, {"a card", "t"}, elsewhere, {});
    CHECK(first < 1.25);
    CHECK(carried > 1.3);
    CHECK(carried < 1.4);
    CHECK(after(guard, {"another card", "t"}, elsewhere, {}) == first);
    CHECK(after(guard, {"a card", "another trainer"}, elsewhere, {}) > carried);  // a family that nobody has seen
    CHECK(after(guard, {"a card", "t"}, {}, {}) == first);
    // The study's own attempts come later and count more.
    std::vector<Trial> own;
    for (std::int64_t i = 0; i < 60; ++i) {
        own.push_back(finished(i, {}));
        own.back().attempts[0].device_name = "a card";
        own.back().attempts[0].model_family = "t fp32 model=base";
    }
    CHECK(after(guard, {"a card", "t"}, elsewhere, own) < 1.25);
    CHECK(after(Calibrated{}, {"a card", "t"}, elsewhere, own) == after(guard, {"a card", "t"}, elsewhere, own));
    CHECK(guard.carries());
    CHECK_FALSE(Calibrated{{.carry = false}}.carries());
}

TEST_CASE("a smaller risk needs more") {
    std::vector<Trial> trials;
    for (std::int64_t i = 0; i < 40; ++i) trials.push_back(finished(i, {.bytes = (950 + 25 * (i % 5)) * mebibyte}));
    std::int64_t last = 0;
    for (const double risk : {0.5, 0.1, 0.01, 0.0001}) {
        const std::int64_t need = *ask(Calibrated{{.risk = risk}}, trials, "base", 1000 * mebibyte).need;
        CHECK(need > last);
        last = need;
    }
}

TEST_CASE("risk that safe attempts left is spent on what would be refused for good, and no more of it") {
    constexpr std::int64_t capacity = 2000 * mebibyte;
    // Needs that are 0.9 to 1.1 of what is predicted, on a device of which they take half.
    const auto safe = [&](std::int64_t number) {
        Trial trial = finished(number, {.bytes = (900 + 25 * (number % 9)) * mebibyte});
        trial.attempts[0].capacity_bytes = capacity;
        return trial;
    };
    const auto admitted = [&](const Calibrated& guard, const std::vector<Trial>& trials, std::int64_t need, std::int64_t least_micro = 64) {
        const ParamSet params = of_model("base");
        ExecutionPlan plan;
        plan.effective_batch = 64;
        return admit(guard, AdmissionQuery{params, plan, capacity, History{"study", {}, trials, {}}, least_micro},
                     [&](const ExecutionPlan& tried) {
                         MemoryEvidence evidence;
                         evidence.prediction = predicted(need * *tried.effective_micro_batch() / 64);
                         return evidence;
                     });
    };
    const Calibrated guard;
    std::vector<Trial> trials;
    for (std::int64_t i = 0; i < 10; ++i) trials.push_back(safe(i));
    constexpr std::int64_t edge = 1980 * mebibyte;  // about as likely to fit as not
    CHECK(admitted(guard, trials, 1500 * mebibyte).answer == Admission::Answer::run);
    CHECK(admitted(guard, trials, edge).answer == Admission::Answer::infeasible);
    CHECK(guard::unspent_risk({"study", {}, trials, {}}, 0.01) == Approx(0.1));

    for (std::int64_t i = 10; i < 120; ++i) trials.push_back(safe(i));
    const Admission venture = admitted(guard, trials, edge);
    CHECK(venture.answer == Admission::Answer::run);
    CHECK(venture.estimate.need == capacity);
    CHECK(venture.estimate.confidence > 0.4);
    CHECK(venture.estimate.confidence < 0.8);
    CHECK(guard::bare_need(venture.estimate) == edge);
    CHECK(admitted(guard, trials, 3 * capacity).answer == Admission::Answer::infeasible);
    CHECK(admitted(Calibrated{{.venture = false}}, trials, edge).answer == Admission::Answer::infeasible);
    const Admission shrunk = admitted(guard, trials, edge, 1);  // nobody needs luck where a smaller micro-batch will do
    CHECK(shrunk.answer == Admission::Answer::shrink);
    CHECK(shrunk.plan.micro_batch == 32);
    CHECK(shrunk.estimate.confidence == Approx(0.99));

    // It is paid for: by its probability while nobody knows how it ends, and when it went well; else by one attempt.
    trials.push_back(safe(120));
    Attempt& attempt = trials.back().attempts[0];
    attempt.estimate = venture.estimate;
    attempt.outcome.reset();
    CHECK(guard::is_venture(attempt, 0.01));
    const double before = 120 * 0.01;
    CHECK(guard::unspent_risk({"study", {}, trials, {}}, 0.01) == Approx(before - (1 - venture.estimate.confidence)));
    attempt.outcome = OutcomeKind::failed;
    attempt.failure = Failure{.kind = FailureKind::out_of_memory, .cause = OomCause::capacity};
    attempt.failure->memory.allocated = capacity;
    attempt.failure->requested_bytes = mebibyte;
    CHECK(guard::unspent_risk({"study", {}, trials, {}}, 0.01) == Approx(before - 1));
    CHECK(admitted(guard, trials, edge).answer == Admission::Answer::infeasible);
    for (std::int64_t i = 121; i < 240; ++i) trials.push_back(safe(i));
    CHECK(admitted(guard, trials, edge).answer == Admission::Answer::run);
    // What leaves little room puts in little.
    Trial full = safe(0);
    full.attempts[0].estimate->need = capacity * 9 / 10;
    CHECK(guard::unspent_risk({"study", {}, {&full, 1}, {}}, 0.01) == Approx(0.005));
}

TEST_CASE("what has run is not refused because others of its family are not like it") {
    constexpr std::int64_t capacity = 2000 * mebibyte;
    constexpr std::int64_t edge = 1500 * mebibyte;
    ExecutionPlan plan;
    plan.effective_batch = 64;
    plan.micro_batch = 1;
    struct Asked {
        std::int64_t need = 1500 * mebibyte;
        std::string model = "base";
        std::vector<Attempt> other_studies{};
        bool venture = true;
    };
    const auto answer = [&](const std::vector<Trial>& trials, const Asked& asked = {}) {
        const ParamSet params = of_model(asked.model);
        const History history{"study", {}, trials, {}, asked.other_studies};
        return admit(Calibrated{{.venture = asked.venture}}, AdmissionQuery{params, plan, capacity, history}, [&](const ExecutionPlan&) {
            MemoryEvidence evidence;
            evidence.prediction = predicted(asked.need);
            return evidence;
        });
    };
    // Needs that are 0.9 to 1.5 of what is predicted: the quantile is above 2000 / 1500. Each attempt had the whole device: no risk is
    // saved.
    std::vector<Trial> trials;
    const auto add = [&](const Took& took) {
        trials.push_back(finished(std::ssize(trials), took));
        trials.back().attempts[0].plan = plan;
        trials.back().attempts[0].capacity_bytes = took.predicted;
    };
    for (std::int64_t i = 0; i < 30; ++i) add({.bytes = (900 + 100 * (i % 7)) * mebibyte});
    CHECK(answer(trials).answer == Admission::Answer::infeasible);
    add({.predicted = edge, .bytes = 1800 * mebibyte});
    const Admission again = answer(trials);
    CHECK(again.answer == Admission::Answer::run);
    CHECK(again.estimate.need == capacity);
    CHECK(again.estimate.confidence == Approx(0.99));
    CHECK(guard::bare_need(again.estimate) == edge);
    CHECK(answer(trials, {.venture = false}).answer == Admission::Answer::run);

    // Another prediction, family, source, micro-batch or allocator is another matter.
    CHECK(answer(trials, {.need = edge + 1}).answer == Admission::Answer::infeasible);
    CHECK(answer(trials, {.model = "large"}).answer == Admission::Answer::infeasible);
    const auto changed = [&](auto change) {
        std::vector<Trial> others = trials;
        change(others.back().attempts[0]);
        return answer(others).answer;
    };
    CHECK(changed([&](Attempt& attempt) { attempt.plan.cap_bytes = capacity; }) == Admission::Answer::run);
    CHECK(changed([&](Attempt& attempt) { attempt.estimate->source = "probe"; }) == Admission::Answer::infeasible);
    CHECK(changed([&](Attempt& attempt) { attempt.plan.micro_batch = 2; }) == Admission::Answer::infeasible);
    CHECK(changed([&](Attempt& attempt) { attempt.plan.effective_batch = 1; }) == Admission::Answer::infeasible);
    CHECK(changed([&](Attempt& attempt) { attempt.plan.expandable_segments = true; }) == Admission::Answer::infeasible);
    CHECK(changed([&](Attempt& attempt) { attempt.plan.allocator_settings = "max_split_size_mb:64"; }) == Admission::Answer::infeasible);
    CHECK(changed([&](Attempt& attempt) { attempt.peak_allocated = capacity - 20 * mebibyte; }) == Admission::Answer::infeasible);
    CHECK(changed([&](Attempt& attempt) { attempt.outcome.reset(); }) == Admission::Answer::infeasible);

    // What other studies measured counts as well, and what ran out of memory speaks against it.
    Attempt past = trials.back().attempts[0];
    past.model_family = guard::residual_group("dry_run", {}, of_model("base"), plan).family;
    trials.pop_back();
    CHECK(answer(trials, {.other_studies = {past}}).answer == Admission::Answer::run);
    add({.predicted = edge, .bytes = 1700 * mebibyte, .out_of_memory = true});
    CHECK(answer(trials).answer == Admission::Answer::infeasible);
    CHECK(answer(trials, {.other_studies = {past}}).answer == Admission::Answer::run);  // more than 1700, and that is 1800
    add({.predicted = edge, .bytes = capacity, .out_of_memory = true});
    CHECK(answer(trials, {.other_studies = {past}}).answer == Admission::Answer::infeasible);
}

TEST_CASE("a configuration that makes no sense is refused") {
    CHECK_THROWS_WITH((Calibrated{{.risk = 0}}), "risk: got 0; expected 0.000001 to 0.5");
    CHECK_THROWS_WITH((Calibrated{{.risk = 0.7}}), Catch::StartsWith("risk: got 0.7; expected"));
    CHECK_THROWS((Calibrated{{.risk = std::nan("")}}));
    CHECK_THROWS_WITH((Calibrated{{.base = "guess"}}), "base: got 'guess'; expected virtual_card, dry_run, probe or formula");
    CHECK_THROWS_WITH((Calibrated{{.memory = 1}}), "memory: got 1; expected 2 or more");
    CHECK(Calibrated{{.base = "virtual_card"}}.evidence() == Evidence::virtual_card);
    CHECK(Calibrated{{.base = "probe"}}.evidence() == Evidence::probe);
    CHECK(Calibrated{{.base = "formula"}}.evidence() == Evidence::shape);
}

TEST_CASE("a program's peak that was seen now and then is no news below its prediction, and is above") {
    Attempt attempt;
    attempt.outcome = OutcomeKind::complete;
    attempt.estimate = Estimate{.need = 1000, .source = "virtual_card"};
    attempt.peak_reserved = 600;
    CHECK(guard::residual_of(ParamSet{}, attempt)->log_ratio == 0);
    attempt.peak_reserved = 2000;
    CHECK(guard::residual_of(ParamSet{}, attempt)->log_ratio == Approx(std::log(2)));
    // What the allocator itself tells is the peak.
    attempt.peak_reserved = 600;
    attempt.peak_allocated = 550;
    CHECK(guard::residual_of(ParamSet{}, attempt)->log_ratio == Approx(std::log(0.6)));
}
