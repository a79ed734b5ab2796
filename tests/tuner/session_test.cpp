// SPDX-License-Identifier: MIT
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>

#include "hpo/guard/calibrated.hpp"
#include "hpo/guard/dry_run.hpp"
#include "hpo/guard/unlimited.hpp"
#include "hpo/pruner/none.hpp"
#include "hpo/recovery/fail.hpp"
#include "hpo/recovery/prune.hpp"
#include "hpo/recovery/shrink_micro_batch.hpp"
#include "hpo/sampler/random.hpp"
#include "hpo/store/in_memory.hpp"
#include "hpo/store/retries.hpp"
#include "hpo/store/sqlite.hpp"
#include "hpo/trainer/levers.hpp"
#include "hpo/tuner.hpp"
#include "hpo/tuner/prediction_miss.hpp"
#include "hpo/tuner/study_event.hpp"
#include "support/catch.hpp"
#include "support/listener.hpp"
#include "support/temporary_directory.hpp"
#include "tuner/full_disk_store.hpp"

using namespace hpo;
using hpo::tests::FullDiskStore;

namespace {

constexpr std::int64_t mebibyte = 1 << 20;

/// An executor whose device has a capacity, and whose trials need 1 MiB for each example of the micro-batch.
class MemoryBound final : public Executor {
public:
    explicit MemoryBound(std::int64_t capacity_bytes) : capacity_bytes_{capacity_bytes} {}

    [[nodiscard]] std::size_t free_slots() const override { return queue_.size() < 3 ? 3 - queue_.size() : 0; }
    void submit(const Job& job, ExecutorEvents& events) override {
        events.on(job.trial, hpo::AttemptStarted{1000 + job.attempt});
        queue_.push_back(job);
        if (on_submit) on_submit();
    }
    void wait(ExecutorEvents& events, double /*timeout_seconds*/) override {
        if (queue_.empty()) return;
        const Job job = queue_.back();  // last come, first served: ends arrive out of order
        if (interrupted_) {
            queue_.pop_back();
            return (void)events.on(job.trial, hpo::AttemptOutcome{.kind = OutcomeKind::interrupted});
        }
        if (job.settles && settles_at && settled.insert({job.trial, job.attempt}).second)
            return (void)events.on(job.trial, hpo::MemoryMark{.name = std::string{settled_mark}, .reading = {.limit = settles_at}});
        plans.push_back(job.plan);
        seeds.push_back(job.seed);
        const std::int64_t need = job.plan.effective_micro_batch().value_or(1) * mebibyte;
        AttemptOutcome outcome;
        outcome.seconds = 0.5;
        const std::int64_t first = job.resume_step ? *job.resume_step + 1 : 1;
        events.on(job.trial, hpo::Report{.step = first, .value = static_cast<double>(job.attempt)});
        if (!job.checkpoint_folder.empty()) {
            events.on(job.trial, hpo::Checkpoint{first});
            events.on(job.trial, hpo::Report{.step = first + 1, .value = static_cast<double>(job.attempt)});
        }
        const auto cap = job.settles && settles_at ? settles_at : job.plan.cap_bytes;
        if (need > std::min(cap.value_or(capacity_bytes_), capacity_bytes_)) {
            Failure failure{.kind = FailureKind::out_of_memory, .message = "out of memory"};
            failure.requested_bytes = need;
            failure.memory.allocated = 0;
            failure.memory.capacity = capacity_bytes_;
            failure.memory.limit = cap;
            outcome.failure = failure;
        } else {
            outcome.kind = OutcomeKind::complete;
            outcome.values = {static_cast<double>(need)};
            outcome.attributes = attributes;
            outcome.constraints = constraints;
            outcome.memory = marks;
            outcome.peak_allocated = need;
        }
        queue_.pop_back();
        events.on(job.trial, outcome);
    }
    void interrupt() override { interrupted_ = true; }
    [[nodiscard]] std::optional<std::int64_t> capacity_bytes() const override { return capacity_bytes_; }
    [[nodiscard]] RunsOn runs_on() const override { return {device_name, "bound"}; }
    /// As a worker would predict it; a dry run times `lie`.
    [[nodiscard]] MemoryEvidence evidence(const ParamSet&, const ExecutionPlan& plan, Evidence wanted) override {
        MemoryEvidence evidence;
        if (wanted != Evidence::dry_run && wanted != Evidence::probe) return evidence;
        const bool dry = wanted == Evidence::dry_run;
        if (dry) asked.push_back(plan);
        evidence.prediction.emplace();
        evidence.prediction->source = dry ? PeakSource::dry_run : PeakSource::probe;
        evidence.prediction->need = evidence.prediction->comfort =
            static_cast<std::int64_t>((dry ? lie : 1) * static_cast<double>(plan.effective_micro_batch().value_or(1) * mebibyte));
        return evidence;
    }

    std::string device_name = "Card of 100 MiB";
    std::function<void()> on_submit;
    Attributes attributes;                                   ///< told of each attempt that reaches its end
    std::vector<MemoryMark> marks;                           ///< likewise
    std::map<std::string, double, std::less<>> constraints;  ///< likewise
    std::vector<ExecutionPlan> asked;
    double lie = 1;
    std::vector<ExecutionPlan> plans;
    std::vector<std::uint64_t> seeds;
    std::optional<std::int64_t> settles_at;          ///< bytes at which attempts cap themselves before they end
    std::set<std::pair<std::int64_t, int>> settled;  ///< trials and attempts that did

private:
    std::int64_t capacity_bytes_;
    std::vector<Job> queue_;
    bool interrupted_ = false;
};

const Space batches = [](SpaceTrial& trial) { trial.suggest_categorical("batch", {std::int64_t{8}, std::int64_t{64}, std::int64_t{512}}); };

/// Needs what MemoryBound needs.
struct Exact {
    [[nodiscard]] Estimate estimate(const MemoryQuery& query) const {
        return {.need = query.plan.effective_micro_batch().value_or(1) * mebibyte, .source = "exact"};
    }
    [[nodiscard]] Evidence evidence() const { return Evidence::none; }
};
static_assert(MemoryGuard<Exact>);

}  // namespace

TEST_CASE("a trial that runs out of memory comes back with a smaller micro-batch and the same effective batch") {
    Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, recovery::ShrinkMicroBatch{}};
    store::InMemory store;
    MemoryBound executor{100 * mebibyte};
    const TuneResult result = tuner.optimize(store, "s", batches, executor, {.trials = 30, .effective_batch_parameter = "batch"});

    REQUIRE(result.trials.size() == 30);
    int recovered = 0;
    for (const Trial& trial : result.trials) {
        REQUIRE(trial.state == TrialState::complete);
        CHECK(trial.feasible());
        CHECK(trial.constraints.at("memory") <= 0);
        const auto batch = static_cast<std::int64_t>(*trial.params.number("batch"));
        for (const Attempt& attempt : trial.attempts) CHECK(attempt.plan.effective_batch == batch);
        CHECK(trial.attempts.size() == (batch == 512 ? 4 : 1));  // 512, 256, 128, 64
        if (batch != 512) continue;
        ++recovered;
        CHECK(trial.attempts.back().plan.micro_batch == 64);
        CHECK(trial.attempts.back().plan.accumulation_steps() == 8);
        CHECK(trial.attempts[0].failure->cause == OomCause::capacity);
        CHECK(trial.attempts[0].capacity_bytes == 100 * mebibyte);
        CHECK(trial.attempts[0].device_name == "Card of 100 MiB");
        CHECK(trial.attempts[1].model_family == "bound fp32");
        CHECK_FALSE(trial.attempts[0].decision.empty());
        // Reports of superseded attempts stay with them; the trial has the last one's.
        CHECK(trial.attempts[1].reports == StepValues{{1, 1.0}});
        CHECK(trial.intermediate == StepValues{{1, 3.0}});
        CHECK_FALSE(trial.user_attributes.contains("oom"));
    }
    CHECK(recovered > 0);
}

TEST_CASE("a trial that was stopped after a failure begins again with the plan of the retry, not with the one that failed") {
    Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, recovery::ShrinkMicroBatch{}};
    store::InMemory store;
    TuneOptions options{.trials = 1, .plan = {.effective_batch = 128}};
    bool ended = false;
    test::Listener observer{[&](const event::AttemptEnded&) { ended = true; }};
    options.stop_requested = [&] { return ended; };
    MemoryBound stopped{100 * mebibyte};
    const TuneResult before = tuner.optimize(store, "s", batches, stopped, options, observer);
    REQUIRE(before.interrupted);
    REQUIRE(before.trials.at(0).attempts.size() == 1);
    REQUIRE(is_memory(before.trials[0].attempts[0].failure->kind));
    MemoryBound again{100 * mebibyte};
    options.stop_requested = {};
    const TuneResult after = tuner.optimize(store, "s", batches, again, options);
    REQUIRE(again.plans.size() == 1);
    CHECK(again.plans[0].micro_batch == 64);
    CHECK(again.plans[0].effective_batch == 128);
    CHECK(after.trials.at(1).state == TrialState::complete);
}

TEST_CASE("an attempt goes on from the checkpoint of the one before, and the reports up to it stay") {
    Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, recovery::ShrinkMicroBatch{}};
    store::InMemory store;
    MemoryBound executor{100 * mebibyte};
    const TuneResult result =
        tuner.optimize(store, "s", batches, executor,
                       {.trials = 1,
                        .fixed = {{"batch", std::int64_t{512}}},
                        .effective_batch_parameter = "batch",
                        .checkpoint_folder = [](const Trial& trial) { return "folder of " + std::to_string(trial.number); }});
    const Trial& trial = result.trials.at(0);
    REQUIRE(trial.attempts.size() == 4);
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(trial.attempts[i].resumed_step == (i == 0 ? std::nullopt : std::optional{static_cast<std::int64_t>(i)}));
    }
    CHECK(trial.attempts[3].checkpoint_step == 4);
    CHECK(trial.attempts[0].reports == StepValues{{2, 0.0}});
    CHECK(trial.attempts[2].reports == StepValues{{4, 2.0}});
    CHECK(trial.intermediate == StepValues{{1, 0.0}, {2, 1.0}, {3, 2.0}, {4, 3.0}, {5, 3.0}});
    std::vector<Trial> stored;
    store.refresh(result.study.id, stored);
    CHECK(stored.at(0).intermediate == trial.intermediate);
}

namespace {

/// Asks for the parameters that the trial has, as a rule does that changes one.
struct SameParams {
    [[nodiscard]] Recovery recover(const FailedAttempt& failed) const {
        Recovery recovery{.action = Recovery::Action::retry, .plan = failed.attempt.plan, .params = failed.trial.params};
        recovery.plan.micro_batch = 64;
        return recovery;
    }
};

}  // namespace

TEST_CASE("an attempt with changed parameters begins anew") {
    Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, SameParams{}};
    store::InMemory store;
    MemoryBound executor{100 * mebibyte};
    const TuneResult result = tuner.optimize(
        store, "s", batches, executor,
        {.trials = 1, .fixed = {{"batch", std::int64_t{512}}}, .effective_batch_parameter = "batch", .checkpoint_folder = [](const Trial&) {
             return std::string{"folder"};
         }});
    const Trial& trial = result.trials.at(0);
    REQUIRE(trial.attempts.size() == 2);
    CHECK_FALSE(trial.attempts[1].resumed_step);
    CHECK(trial.attempts[0].reports == StepValues{{1, 0.0}, {2, 0.0}});
    CHECK(trial.intermediate == StepValues{{1, 1.0}, {2, 1.0}});
}

TEST_CASE("numbers that cannot be meant are refused in one line, before the study is made") {
    struct NegativeGuard {
        [[nodiscard]] Estimate estimate(const MemoryQuery&) const { return {.need = -5, .comfort = {}, .parts = {}, .source = "mine"}; }
        [[nodiscard]] Evidence evidence() const { return Evidence::none; }
    };
    const Space space = [](SpaceTrial& trial) { trial.suggest_float("x", 0, 1); };
    const auto job = [](tuner::RunningJob&) { return 1.0; };
    store::InMemory store;
    Tuner plain{sampler::Random{}, pruner::None{}, guard::Unlimited{}, recovery::Fail{}};
    CHECK_THROWS_WITH(plain.optimize(store, "s", space, job, {.trials = -3}), "TuneOptions::trials: got -3; expected at least 0");
    CHECK_THROWS_WITH(plain.optimize(store, "s", space, job, {.own_trials = -1}), "TuneOptions::own_trials: got -1; expected at least 0");
    CHECK_THROWS_WITH(plain.optimize(store, "s", space, job, {.max_attempts = 0}), "TuneOptions::max_attempts: got 0; expected at least 1");
    CHECK_THROWS_WITH(plain.optimize(store, "s", space, job, {.target_share = -1}),
                      "TuneOptions::target_share: got -1; expected above 0 and at most 1");
    CHECK(store.studies().empty());
    CHECK(plain.optimize(store, "s", space, job, {.trials = 0}).trials.empty());
    Tuner guarded{sampler::Random{}, pruner::None{}, NegativeGuard{}, recovery::Fail{}};
    CHECK_THROWS_WITH(guarded.optimize(store, "s", space, job, {.trials = 1}),
                      "memory guard (mine): got a need of -5 bytes; expected 0 or more, or none if it is not known");
}

TEST_CASE("a trial that cannot fit is infeasible, not bad") {
    Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, recovery::Prune{}};
    store::InMemory store;
    MemoryBound executor{100 * mebibyte};
    const TuneResult result = tuner.optimize(store, "s", batches, executor, {.trials = 30, .effective_batch_parameter = "batch"});
    int infeasible = 0;
    for (const Trial& trial : result.trials) {
        if (trial.params.number("batch") != 512.0) continue;
        ++infeasible;
        CHECK(trial.state == TrialState::pruned);
        CHECK(trial.constraints.at("memory") == Approx(512.0 / 100 - 1));
        CHECK(trial.user_attributes.at("oom") == "true");
        CHECK(trial.values.empty());
    }
    CHECK(infeasible > 0);
}

namespace {
/// Never gives up, and never changes anything.
struct Stubborn {
    [[nodiscard]] Recovery recover(const FailedAttempt& failed) const {
        return {.action = Recovery::Action::retry, .plan = failed.attempt.plan, .reason = "once more"};
    }
};
}  // namespace

TEST_CASE("a recovery policy that never gives up is stopped") {
    Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, Stubborn{}};
    store::InMemory store;
    MemoryBound executor{100 * mebibyte};
    const TuneResult result =
        tuner.optimize(store, "s", batches, executor, {.trials = 10, .effective_batch_parameter = "batch", .max_attempts = 3});
    int given_up = 0;
    for (const Trial& trial : result.trials) {
        if (trial.params.number("batch") != 512.0) continue;
        ++given_up;
        CHECK(trial.state == TrialState::pruned);
        CHECK(trial.attempts.size() == 3);
        CHECK_THAT(trial.attempts.back().decision, Catch::Contains("given up after 3 attempts"));
    }
    CHECK(given_up > 0);
}

TEST_CASE("a rule that asks for a lever which the trainer lacks fails its trial, and says nothing about memory") {
    struct Rule {
        [[nodiscard]] Recovery recover(const FailedAttempt& failed) const {
            Recovery retry = recovery_of(failed, Recovery::Action::retry, "half");
            retry.plan.precision = Precision::bf16;
            retry.place = "study.lua:7";
            return retry;
        }
    };
    Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, Rule{}};
    store::InMemory store;
    MemoryBound executor{100 * mebibyte};
    const TuneResult result = tuner.optimize(
        store, "s", batches, executor,
        {.trials = 10, .effective_batch_parameter = "batch", .refuses_plan = [](const ExecutionPlan& from, const ExecutionPlan& to) {
             return hpo::missing_lever(from, to, std::vector<std::string>{"micro_batch"});
         }});
    int refused = 0;
    for (const Trial& trial : result.trials) {
        if (trial.params.number("batch") != 512.0) continue;
        ++refused;
        CHECK(trial.state == TrialState::fail);
        CHECK(trial.constraints.empty());
        const auto rule = rule_failure(trial);
        REQUIRE(rule);
        CHECK(rule->message == "study.lua:7: hpo.retry: the trainer has no lever 'precision'; known: micro_batch");
    }
    CHECK(refused > 0);
}

TEST_CASE("a retry that pulls a lever which the trainer lacks ends its trial and says so") {
    Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, recovery::ShrinkMicroBatch{}};
    store::InMemory store;
    MemoryBound executor{100 * mebibyte};
    const TuneResult result = tuner.optimize(
        store, "s", batches, executor,
        {.trials = 10, .effective_batch_parameter = "batch", .refuses_plan = [](const ExecutionPlan& from, const ExecutionPlan& to) {
             return hpo::missing_lever(from, to, std::vector<std::string>{"precision"});
         }});
    int refused = 0;
    for (const Trial& trial : result.trials) {
        CHECK(trial.attempts.size() == 1);
        if (trial.params.number("batch") != 512.0) continue;
        ++refused;
        CHECK(trial.state == TrialState::pruned);
        CHECK_THAT(trial.attempts[0].decision,
                   Catch::StartsWith("the trainer has no lever 'micro_batch'; known: precision; a retry was asked for: "));
    }
    CHECK(refused > 0);
}

TEST_CASE("a guard that learns meets a wrong prediction a few times, and a retry is predicted as well") {
    Tuner tuner{sampler::Random{}, pruner::None{}, guard::Calibrated{}, recovery::ShrinkMicroBatch{}};
    store::InMemory store;
    MemoryBound executor{100 * mebibyte};
    executor.lie = 0.5;
    const TuneResult result = tuner.optimize(store, "s", batches, executor, {.trials = 60, .effective_batch_parameter = "batch"});
    int failed = 0;
    int failed_late = 0;
    for (const Trial& trial : result.trials) {
        REQUIRE(trial.state == TrialState::complete);
        for (const Attempt& attempt : trial.attempts) {
            REQUIRE(attempt.estimate);
            CHECK(attempt.estimate->source == "dry_run");
            if (!attempt.failure) continue;
            ++failed;
            failed_late += trial.number >= 20 ? 1 : 0;
            CHECK(guard::residual_of(trial, attempt)->censored);
        }
    }
    CHECK(failed > 0);
    CHECK(failed <= 3);  // those that ran side by side before anything was known
    CHECK(failed_late == 0);
}

TEST_CASE("a guard that learns begins with what other studies of the store have shown on the same device") {
    store::InMemory store;
    const auto failures = [&](const char* study, const std::string& device_name, bool carry) {
        Tuner tuner{sampler::Random{}, pruner::None{}, guard::Calibrated{{.carry = carry}}, recovery::ShrinkMicroBatch{}};
        MemoryBound executor{100 * mebibyte};
        executor.lie = 0.5;
        executor.device_name = device_name;
        int count = 0;
        for (const Trial& trial :
             tuner.optimize(store, study, batches, executor, {.trials = 20, .effective_batch_parameter = "batch"}).trials) {
            for (const Attempt& attempt : trial.attempts) count += attempt.failure ? 1 : 0;
        }
        return count;
    };
    CHECK(failures("first", "a card", true) > 0);
    CHECK(failures("second", "a card", true) == 0);
    CHECK(failures("for itself", "a card", false) > 0);
    CHECK(failures("elsewhere", "another card", true) > 0);
    CHECK(failures("nameless", "", true) > 0);
    CHECK(failures("first", "a card", true) > 0);  // gone on with: nothing is run, and nothing forgotten
}

TEST_CASE("a guard that knows shrinks before launch, and nothing fails") {
    Tuner tuner{sampler::Random{}, pruner::None{}, Exact{}, recovery::Fail{}};
    store::InMemory store;
    MemoryBound executor{100 * mebibyte};
    const TuneResult result = tuner.optimize(store, "s", batches, executor, {.trials = 30, .effective_batch_parameter = "batch"});
    for (const Trial& trial : result.trials) {
        CHECK(trial.state == TrialState::complete);
        CHECK(trial.attempts.size() == 1);
        CHECK(trial.attempts[0].estimate->source == "exact");
    }
}

TEST_CASE("a proposal that fits at no micro-batch costs no trial number") {
    Tuner tuner{sampler::Random{}, pruner::None{}, Exact{}, recovery::Fail{}};
    store::InMemory store;
    MemoryBound executor{100 * mebibyte};
    const TuneResult result =
        tuner.optimize(store, "s", batches, executor, {.trials = 30, .effective_batch_parameter = "batch", .least_micro_batch = 512});
    CHECK(result.trials.size() == 30);
    for (const Trial& trial : result.trials) CHECK(trial.params.number("batch") != 512.0);
    const auto rejections = store.rejections(result.study.id);
    REQUIRE_FALSE(rejections.empty());
    CHECK(rejections[0].violation == Approx(512.0 / 100 - 1));
    CHECK(rejections[0].capacity_bytes == 100 * mebibyte);
    CHECK(rejections[0].plan.effective_batch == 512);
}

TEST_CASE("a study in which nothing fits says so instead of drawing for ever") {
    Tuner tuner{sampler::Random{}, pruner::None{}, Exact{}, recovery::Fail{}};
    store::InMemory store;
    MemoryBound executor{mebibyte / 2};
    CHECK_THROWS_WITH(
        tuner.optimize(store, "s", batches, executor, {.trials = 3, .effective_batch_parameter = "batch", .max_rejections = 20}),
        Catch::Contains("no configuration fits: 20 proposals in a row were refused") && Catch::Contains("512.00 KiB"));
    const TuneResult after = tuner.optimize(store, "s", batches, executor, {.trials = 0});
    for (const Trial& trial : after.trials) CHECK(is_finished(trial.state));
}

TEST_CASE("where nothing fits after leaks the error names them") {
    Tuner tuner{sampler::Random{}, pruner::None{}, Exact{}, recovery::Fail{}};
    store::InMemory store;
    MemoryBound large{1000 * mebibyte};
    large.marks.push_back(MemoryMark{std::string{leak_mark}, 1, std::nullopt, {}});
    large.marks[0].reading.allocated = 8 * mebibyte;
    static_cast<void>(tuner.optimize(store, "s", batches, large, {.trials = 1, .effective_batch_parameter = "batch"}));
    MemoryBound small{mebibyte / 2};
    CHECK_THROWS_WITH(tuner.optimize(store, "s", batches, small, {.trials = 3, .effective_batch_parameter = "batch", .max_rejections = 20}),
                      Catch::Contains("no configuration fits: ") &&
                          Catch::Contains("; the trainer kept memory after 1 attempt, which it should release; give the device more"));
}

TEST_CASE("the order in which trials end changes nothing that is suggested") {
    const auto run = [](std::size_t trials_at_once) {
        Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, recovery::Fail{}};
        store::InMemory store;
        const Space space = [](SpaceTrial& trial) { trial.suggest_float("x", 0, 1); };
        std::vector<double> drawn;
        if (trials_at_once == 1) {
            const auto result = tuner.optimize(store, "s", space, [](tuner::RunningJob&) { return 1.0; }, {.trials = 20, .seed = 5});
            for (const Trial& trial : result.trials) drawn.push_back(*trial.params.number("x"));
        } else {
            MemoryBound executor{mebibyte};
            const auto result = tuner.optimize(store, "s", space, executor, {.trials = 20, .seed = 5});
            for (const Trial& trial : result.trials) drawn.push_back(*trial.params.number("x"));
        }
        return drawn;
    };
    CHECK(run(1) == run(3));
}

TEST_CASE("a study goes on to the asked number of trials, and draws what it would have drawn") {
    Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, recovery::Fail{}};
    const auto objective = [](LiveTrial& trial) { return trial.suggest_float("x", 0, 1); };
    store::InMemory in_one;
    const auto whole = tuner.optimize(in_one, "s", objective, {.trials = 20});
    store::InMemory in_two;
    CHECK(tuner.optimize(in_two, "s", objective, {.trials = 12}).trials.size() == 12);
    const auto parts = tuner.optimize(in_two, "s", objective, {.trials = 20});
    REQUIRE(parts.trials.size() == 20);
    for (std::size_t i = 0; i < 20; ++i) CHECK(parts.trials[i].values == whole.trials[i].values);
    CHECK(tuner.optimize(in_two, "s", objective, {.trials = 20}).trials.size() == 20);
}

TEST_CASE("a run that makes a number of trials of its own makes them, whatever others have done and add meanwhile") {
    const tests::TemporaryDirectory folder;
    store::Sqlite store{folder.file("hpo.db")};
    Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, recovery::Fail{}};
    const auto space = [](SpaceTrial& trial) { static_cast<void>(trial.suggest_int("batch", 1, 4)); };
    const auto run = [&](const TuneOptions& options, bool others_add) {
        MemoryBound device{100 * mebibyte};
        if (others_add) {
            device.on_submit = [&] {
                store::Sqlite other{store.path()};
                const Study study = other.open_study("s", std::vector{Direction::minimize}, Store::Open::resume);
                Trial theirs = other.begin_trial(study.id, std::nullopt);
                theirs.state = TrialState::complete;
                theirs.values = {1};
                other.finish(theirs);
            };
        }
        const TuneResult result = tuner.optimize(store, "s", space, device, options);
        std::vector<Trial> trials;
        store::Sqlite{store.path()}.refresh(result.study.id, trials);
        return trials.size();
    };
    CHECK(run({.trials = 3}, false) == 3);
    CHECK(run({.trials = 3, .own_trials = 4}, false) == 7);
    CHECK(run({.trials = 3, .own_trials = 5}, true) == 7 + 5 + 5);
    CHECK(run({.trials = 3, .own_trials = 0}, false) == 17);
}

TEST_CASE("constraints that are told at an attempt's end, or found after the trial's, count before a trial is called the best") {
    store::InMemory store;
    Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, recovery::Fail{}};
    MemoryBound device{100 * mebibyte};
    device.constraints = {{"told", -1}};
    std::vector<std::pair<std::int64_t, bool>> seen;
    test::Listener observer{[&](const event::TrialFinished& event) { seen.emplace_back(event.trial.number, event.trial.feasible()); }};
    const auto space = [](SpaceTrial& trial) { static_cast<void>(trial.suggest_int("batch", 1, 4)); };
    TuneOptions options{.trials = 3};
    options.constraints_after_end = [](const Trial& trial) {
        return std::map<std::string, double, std::less<>>{{"found", trial.number == 0 ? 0.5 : -0.5}};
    };
    const TuneResult result = tuner.optimize(store, "s", space, device, options, observer);
    CHECK(seen == std::vector<std::pair<std::int64_t, bool>>{{2, true}, {1, true}, {0, false}});  // the last begun ends first
    REQUIRE(result.best());
    CHECK(result.best()->number != 0);
    CHECK(result.trials[0].constraints.at("told") == -1);
    CHECK(result.trials[0].constraints.at("found") == 0.5);
}

TEST_CASE("an interrupted study loses no finished trial, and interrupted ones do not count") {
    Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, recovery::Fail{}};
    store::InMemory store;
    MemoryBound executor{1000 * mebibyte};
    int asked = 0;
    const auto stopped =
        tuner.optimize(store, "s", batches, executor,
                       {.trials = 50, .effective_batch_parameter = "batch", .stop_requested = [&] { return ++asked > 20; }});
    CHECK(stopped.interrupted);
    int lost = 0;
    for (const Trial& trial : stopped.trials) {
        CHECK(is_finished(trial.state));
        lost += counts_as_done(trial) ? 0 : 1;
    }
    CHECK(lost > 0);
    MemoryBound again{1000 * mebibyte};
    const auto finished = tuner.optimize(store, "s", batches, again, {.trials = 50, .effective_batch_parameter = "batch"});
    CHECK(std::count_if(finished.trials.begin(), finished.trials.end(), [](const Trial& t) { return counts_as_done(t); }) == 50);
}

TEST_CASE("an objective that throws, or is NaN, costs its trial and nothing else") {
    Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, recovery::Prune{}};
    store::InMemory store;
    const auto result = tuner.optimize(store, "s",
                                       [](LiveTrial& trial) -> double {
                                           trial.suggest_float("x", 0, 1);
                                           if (trial.number() == 1) throw std::runtime_error{"no such file"};
                                           if (trial.number() == 2) return std::nan("");
                                           if (trial.number() == 3)
                                               throw std::runtime_error{
                                                   "CUDA out of memory. Tried to allocate 360.00 MiB (GPU 0; 23.56 GiB total capacity; "
                                                   "22.72 GiB already allocated; 259.88 MiB free; 22.90 GiB reserved in total by PyTorch)"};
                                           if (trial.number() == 4) return -std::numeric_limits<double>::infinity();
                                           return 1;
                                       },
                                       {.trials = 6});
    REQUIRE(result.trials.size() == 6);
    CHECK(result.trials[1].state == TrialState::fail);
    CHECK(result.trials[1].attempts[0].failure->message == "no such file");
    CHECK(result.trials[2].state == TrialState::fail);
    CHECK(result.trials[2].attempts[0].failure->kind == FailureKind::non_finite);
    CHECK(result.trials[3].state == TrialState::pruned);
    CHECK_FALSE(result.trials[3].feasible());
    CHECK(result.trials[3].user_attributes.at("oom") == "true");
    CHECK(result.trials[4].state == TrialState::complete);
    CHECK(result.trials[5].state == TrialState::complete);
}

TEST_CASE("require draws again in a live trial") {
    Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, recovery::Fail{}};
    store::InMemory store;
    const auto result = tuner.optimize(store, "s",
                                       [](LiveTrial& trial) {
                                           const double x = trial.suggest_float("x", 0, 1);
                                           trial.require(x > 0.9, "too small");
                                           return x;
                                       },
                                       {.trials = 20});
    CHECK(result.trials.size() == 20);
    for (const Trial& trial : result.trials) CHECK(trial.values.at(0) > 0.9);
}

TEST_CASE("an attribute that is no JSON is left out with a note, and its trial stays complete") {
    Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, recovery::Fail{}};
    struct : store::InMemory {
        [[nodiscard]] bool can_keep(std::string_view json) const override { return !json.starts_with("sum "); }
    } store;
    std::vector<std::string> notes;
    test::Listener observer{[&](const event::AttributeDropped& event) {
        notes.push_back(std::to_string(event.trial.number) + " " + event.dropped.name + "=" + event.dropped.begin);
    }};
    MemoryBound executor{100 * mebibyte};
    executor.attributes = {{"accuracy", "0.5"}, {"data_hash", "sum 1"}, {"large", "sum " + std::string(1000, '2')}};
    const auto result = tuner.optimize(store, "s", batches, executor, {.trials = 2}, observer);
    REQUIRE(result.trials.size() == 2);
    for (const Trial& trial : result.trials) {
        CHECK(trial.state == TrialState::complete);
        CHECK(trial.user_attributes.at("accuracy") == "0.5");
        CHECK_FALSE(trial.user_attributes.contains("data_hash"));
        CHECK_THAT(trial.user_attributes.at("dropped_attributes"), Catch::StartsWith(R"({"data_hash": "sum 1", "large": "sum 222)") &&
                                                                       Catch::EndsWith(R"json(2... (1004 bytes in all)"})json"));
    }
    REQUIRE(notes.size() == 4);
    CHECK(std::count(notes.begin(), notes.end(), "0 data_hash=sum 1") == 1);
}

TEST_CASE("an attribute under a name that the tuner writes itself is left out with a note, and the study ends") {
    Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, recovery::Fail{}};
    std::set<std::string> notes;
    test::Listener observer{[&](const event::AttributeDropped& event) { notes.insert(event.dropped.note()); }};
    store::InMemory store;
    MemoryBound executor{100 * mebibyte};
    executor.attributes = {{"lost", "true"}, {"oom", "true"}, {"prune_reason", "\"mine\""}, {"dropped_attributes", "1"}, {"kept", "1"}};
    int looks = 0;
    const auto result =
        tuner.optimize(store, "s", batches, executor, {.trials = 2, .stop_requested = [&] { return ++looks > 1000; }}, observer);
    REQUIRE(result.trials.size() == 2);
    for (const Trial& trial : result.trials) {
        CHECK(trial.state == TrialState::complete);
        CHECK(trial.user_attributes.at("kept") == "1");
        for (const char* name : {"lost", "oom", "prune_reason"}) CHECK_FALSE(trial.user_attributes.contains(name));
        CHECK(trial.user_attributes.at("dropped_attributes") ==
              R"({"dropped_attributes": "1", "lost": "true", "oom": "true", "prune_reason": "\"mine\""})");
    }
    CHECK(notes.size() == 4);
    CHECK(notes.contains("attribute 'lost' has a name that hpo keeps for itself, and is not kept: true; give it another name"));
}

TEST_CASE("each attribute that the tuner tells of an end has a reserved name") {
    Trial trial;
    for (const TrialState state : {TrialState::fail, TrialState::pruned}) {
        trial.state = state;
        for (int kind = 0; kind < static_cast<int>(failure_kind_names.size()); ++kind) {
            Attempt attempt;
            attempt.peak_allocated = 1;
            attempt.failure = Failure{.kind = static_cast<FailureKind>(kind), .message = "m"};
            attempt.failure->traceback = "t";
            const Attributes told = source_attributes(trial, &attempt, &*attempt.failure);
            CHECK(told.size() >= 3);
            for (const auto& [name, json] : told) CHECK(tuner::is_reserved_attribute(name));
        }
    }
    for (const char* name : {"lost", "rule_error", "dropped_attributes"}) CHECK(tuner::is_reserved_attribute(name));
    for (const char* name : {"data_hash", "losts", "value", ""}) CHECK_FALSE(tuner::is_reserved_attribute(name));
}

TEST_CASE("fixed values win over the sampler") {
    Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, recovery::Fail{}};
    store::InMemory store;
    const Study study = store.open_study("s", std::vector{Direction::minimize}, Store::Open::create);
    store.enqueue(study.id, {{"x", 0.25}});
    const auto result = tuner.optimize(store, "s", [](LiveTrial& trial) { return trial.suggest_float("x", 0, 1); }, {.trials = 3});
    CHECK(result.trials[0].values.at(0) == 0.25);
    CHECK(result.trials[1].values.at(0) != 0.25);
}

TEST_CASE("a store that fails ends the study with its error, wherever it fails and whatever runs the trials") {
    using At = FullDiskStore::At;
    for (const At at : {At::set_params, At::begin_attempt, At::end_attempt, At::report, At::finish}) {
        for (const int good_calls : {0, 4}) {
            CAPTURE(static_cast<int>(at), good_calls);
            Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, recovery::ShrinkMicroBatch{}};
            FullDiskStore store{at, good_calls, FullDiskStore::Lasts::for_ever};
            MemoryBound executor{100 * mebibyte};
            CHECK_THROWS_WITH(tuner.optimize(store, "s", batches, executor, {.trials = 30, .effective_batch_parameter = "batch"}),
                              "hpo.db: disk is full");

            FullDiskStore live{at, good_calls, FullDiskStore::Lasts::for_ever};
            CHECK_THROWS_WITH(tuner.optimize(live, "s",
                                             [](LiveTrial& trial) {
                                                 const double x = trial.suggest_float("x", 0, 1);
                                                 trial.report(1, x);
                                                 return x;
                                             },
                                             {.trials = 30}),
                              "hpo.db: disk is full");

            FullDiskStore direct{at, good_calls, FullDiskStore::Lasts::for_ever};
            CHECK_THROWS_WITH(
                tuner.optimize(direct, "s", batches, [](tuner::RunningJob& job) { return job.report(1, 0) ? 0.0 : 1.0; }, {.trials = 30}),
                "hpo.db: disk is full");
        }
    }
}

TEST_CASE("a space that throws something of its own ends the study with it") {
    Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, recovery::Fail{}};
    store::InMemory store;
    MemoryBound executor{mebibyte};
    const Space space = [](SpaceTrial& trial) {
        trial.suggest_float("x", 0, 1);
        if (trial.number() == 5) throw std::logic_error{"a bug"};
    };
    CHECK_THROWS_WITH(tuner.optimize(store, "s", space, executor, {.trials = 30}), "a bug");
}

TEST_CASE("a parameter has one distribution in a study") {
    Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, recovery::Fail{}};
    store::InMemory store;
    const auto job = [](tuner::RunningJob&) { return 1.0; };
    const Space wide = [](SpaceTrial& trial) { trial.suggest_float("x", 0, 10); };
    const Space whole = [](SpaceTrial& trial) { trial.suggest_int("x", 0, 10); };
    const Space narrow = [](SpaceTrial& trial) { trial.suggest_float("x", 0, 1); };
    tuner.optimize(store, "s", wide, job, {.trials = 3});
    CHECK_NOTHROW(tuner.optimize(store, "s", narrow, job, {.trials = 6}));  // ranges may change
    CHECK_THROWS_WITH(tuner.optimize(store, "s", whole, job, {.trials = 9}),
                      Catch::Contains("parameter 'x': got int [0, 10] in this trial, where others have float [0, 1]"));
}

TEST_CASE("memory that somebody else held is no verdict on the configuration") {
    Trial trial;
    Attempt& attempt = trial.attempts.emplace_back();
    Failure failure{.kind = FailureKind::out_of_memory, .message = "out of memory"};
    failure.requested_bytes = 10 * mebibyte;
    failure.memory.allocated = 20 * mebibyte;
    failure.memory.capacity = 100 * mebibyte;
    failure.memory.free = 5 * mebibyte;
    failure.memory.neighbours = {{.pid = 4711, .bytes = 75 * mebibyte}};
    attempt.failure = failure;
    tuner::explain(attempt, std::nullopt);
    REQUIRE(attempt.failure->cause == OomCause::neighbour);
    tuner::settle_failed(trial, *attempt.failure, {.action = Recovery::Action::prune}, std::nullopt);
    CHECK(trial.state == TrialState::fail);
    CHECK(trial.feasible());

    Attempt long_story;
    long_story.failure = Failure{.kind = FailureKind::trainer_error, .message = std::string(50'000'000, 'x')};
    tuner::explain(long_story, std::nullopt);
    CHECK(long_story.failure->message.size() < 20'000);
}

TEST_CASE("a dry run shrinks before launch, asked anew for each plan, and nothing fails") {
    Tuner tuner{sampler::Random{}, pruner::None{}, guard::DryRun{}, recovery::ShrinkMicroBatch{}};
    store::InMemory store;
    MemoryBound executor{100 * mebibyte};
    const TuneResult result = tuner.optimize(store, "s", batches, executor, {.trials = 30, .effective_batch_parameter = "batch"});
    bool shrank = false;
    for (const Trial& trial : result.trials) {
        REQUIRE(trial.attempts.size() == 1);
        CHECK(trial.attempts[0].estimate->source == "dry_run");
        CHECK(*trial.attempts[0].estimate->need == *trial.attempts[0].peak_allocated);
        shrank = shrank || trial.attempts[0].plan.micro_batch == 64;
    }
    CHECK(shrank);
    CHECK(executor.asked.size() > 30);
}

TEST_CASE("what a process held before an attempt is not held against the attempt's prediction") {
    Attempt attempt;
    attempt.outcome = OutcomeKind::complete;
    attempt.estimate = Estimate{.need = 16 * mebibyte, .comfort = 16 * mebibyte, .source = "dry_run"};
    attempt.peak_allocated = 88 * mebibyte;
    CHECK(tuner::prediction_miss(attempt) == "its dry_run predicted 16.00 MiB, and it took 88.00 MiB");
    MemoryMark start{"trial_start", 0, std::nullopt, {}};
    start.reading.allocated = 72 * mebibyte;
    attempt.memory.push_back(start);
    CHECK_FALSE(tuner::prediction_miss(attempt));
}

TEST_CASE("a prediction that turns out wrong is told once") {
    const Space large = [](SpaceTrial& trial) { trial.suggest_categorical("batch", {std::int64_t{64}}); };
    const auto told_at = [&](double lie) {
        Tuner tuner{sampler::Random{}, pruner::None{}, guard::DryRun{}, recovery::Fail{}};
        store::InMemory store;
        MemoryBound executor{100 * mebibyte};
        executor.lie = lie;
        std::vector<std::string> told;
        test::Listener listener{[&](const event::Mispredicted& event) {
            told.push_back(event.how);
            CHECK(event.trial.number >= 0);
        }};
        static_cast<void>(tuner.optimize(store, "s", large, executor, {.trials = 3, .effective_batch_parameter = "batch"}, listener));
        return told;
    };
    CHECK(told_at(1).empty());
    CHECK(told_at(1.05).empty());
    CHECK(told_at(0.95).empty());
    CHECK(told_at(0.5) == std::vector<std::string>{"its dry_run predicted 32.00 MiB, and it took 64.00 MiB"});
    CHECK(told_at(1.25) == std::vector<std::string>{"its dry_run predicted 80.00 MiB, and it took 64.00 MiB"});
}

TEST_CASE("a source that was too low three times for a model family is not asked about it any more") {
    const Space kinds = [](SpaceTrial& trial) {
        trial.suggest_categorical("kind", {std::string{"loop"}, std::string{"plain"}});
        trial.suggest_categorical("batch", {std::int64_t{64}});
    };
    store::InMemory store;
    MemoryBound executor{100 * mebibyte};
    std::vector<std::string> told;
    test::Listener listener{[&](const event::SourceGivenUp& event) { told.push_back(event.source + ": " + event.family); }};
    const auto run = [&](double lie, const char* kind, std::int64_t trials, auto guard) {
        executor.lie = lie;
        executor.asked.clear();
        Tuner tuner{sampler::Random{}, pruner::None{}, guard, recovery::Fail{}};
        const TuneOptions options{.trials = trials, .fixed = {{"kind", Value{std::string{kind}}}}, .effective_batch_parameter = "batch"};
        return tuner.optimize(store, "s", kinds, executor, options, listener);
    };
    static_cast<void>(run(0.98, "plain", 6, guard::DryRun{{.margin = 0.02}}));  // within what the guard adds
    CHECK(executor.asked.size() == 6);
    CHECK(told.empty());

    const TuneResult result = run(0.5, "loop", 20, guard::DryRun{});
    CHECK(executor.asked.size() >= 3);
    CHECK(executor.asked.size() <= 5);  // three run at a time
    CHECK(told == std::vector<std::string>{"dry_run: bound fp32 kind=loop"});
    for (std::size_t i = 6 + executor.asked.size(); i < result.trials.size(); ++i) {
        CHECK(result.trials[i].attempts.at(0).estimate->source == "probe");
        CHECK(result.trials[i].attempts.at(0).estimate->need == 64 * mebibyte);
    }
    static_cast<void>(run(0.5, "loop", 24, guard::DryRun{}));  // another run of the study knows it
    CHECK(executor.asked.empty());
    static_cast<void>(run(1, "plain", 28, guard::DryRun{}));  // and another family is not meant
    CHECK(executor.asked.size() == 4);
    static_cast<void>(run(0.5, "loop", 32, guard::Calibrated{}));  // which learns by how much they are too low
    CHECK(executor.asked.size() >= 4);
}

namespace {

/// Shares a number of bytes among attempts, by need.
struct Shared final : Reservations {
    explicit Shared(std::int64_t all) : bytes{all} {}
    std::optional<std::int64_t> reserve(const ReservationRequest& request) override {
        asked.insert(request.trial);
        std::int64_t sum = request.need_bytes;
        for (const auto& each : inside) sum += each.second;
        if (sum > bytes && !(takes_all && inside.empty())) return ++refused, std::nullopt;
        most = std::max(most, sum);
        alone += request.need_bytes > bytes ? 1 : 0;
        together = std::max(together, inside.size() + 1);
        return inside[request.trial] = std::min(request.need_bytes, bytes);
    }
    void shrink(std::int64_t trial, std::int64_t most_bytes) override { inside.at(trial) = most_bytes; }
    void release(std::int64_t trial) override {
        inside.erase(trial);
        left.insert(trial);
    }
    void reported(std::int64_t trial, std::int64_t /*step*/) override { reporters.insert(trial); }

    std::int64_t bytes;
    bool takes_all = false;                       ///< who needs more has all
    std::map<std::int64_t, std::int64_t> inside;  ///< bytes by trial
    std::int64_t most = 0;
    std::size_t together = 0;  ///< attempts at once
    int alone = 0;             ///< those that asked for more than there is
    std::int64_t refused = 0;
    std::set<std::int64_t> asked;
    std::set<std::int64_t> left;
    std::set<std::int64_t> reporters;
};

}  // namespace

TEST_CASE("attempts wait until the device has room for what they are predicted to need") {
    constexpr std::int64_t bytes = 100 * mebibyte;
    Shared room{bytes};
    Tuner tuner{sampler::Random{}, pruner::None{}, Exact{}, recovery::ShrinkMicroBatch{}};
    store::InMemory store;
    MemoryBound executor{bytes};
    const TuneResult result =
        tuner.optimize(store, "s", batches, executor, {.trials = 60, .effective_batch_parameter = "batch", .reservations = &room});
    CHECK(result.trials.size() == 60);
    for (const Trial& trial : result.trials) CHECK(trial.state == TrialState::complete);
    CHECK(room.inside.empty());
    CHECK(room.refused > 0);
    CHECK(room.most > bytes / 2);
    CHECK(room.most <= bytes);
    CHECK(room.reporters == room.asked);
}

namespace {

/// Knows nothing until an attempt is complete. Then it knows what each takes.
struct Learner {
    [[nodiscard]] Estimate estimate(const MemoryQuery& query) const {
        const auto has_ended = [](const Trial& trial) {
            return !trial.attempts.empty() && trial.attempts.back().outcome == OutcomeKind::complete;
        };
        const bool knows = std::ranges::any_of(query.history.trials, has_ended);
        return {.need = (knows ? *query.params.whole_number("batch") : 60) * mebibyte, .source = knows ? "known" : "unknown"};
    }
    [[nodiscard]] Evidence evidence() const { return Evidence::dry_run; }
    [[nodiscard]] bool relearns(const Estimate& estimate) const { return estimate.source == "unknown"; }
};
static_assert(RelearningGuard<Learner>);

}  // namespace

TEST_CASE("a guard that has learned is asked again about attempts that wait, and a trial that it refuses now gets other parameters") {
    bool had_refused = false;
    for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6, 7, 8}) {
        Shared room{100 * mebibyte};
        Tuner tuner{sampler::Random{}, pruner::None{}, Learner{}, recovery::Fail{}};
        store::InMemory store;
        MemoryBound executor{100 * mebibyte};
        const TuneResult result = tuner.optimize(store, "s", batches, executor, {.trials = 12, .seed = seed, .reservations = &room});
        REQUIRE(result.trials.size() == 12);
        CHECK(room.inside.empty());
        for (const Trial& trial : result.trials) {
            CHECK(trial.state == TrialState::complete);
            REQUIRE(trial.attempts.size() == 1);
            // Two of 60 MiB do not fit: the first trial runs alone, and two wait for it.
            CHECK(trial.attempts[0].estimate->source == (trial.number == 0 ? "unknown" : "known"));
            const auto batch = *trial.params.whole_number("batch");
            if (trial.number == 0) continue;
            CHECK(batch <= 64);
            CHECK(trial.attempts[0].estimate->need == batch * mebibyte);
        }
        for (const std::int64_t waiting : {1, 2}) {  // what they had while they waited
            sampler::Random random;
            const auto drawn = suggest_params(random, batches, TrialContext{waiting, {}}, Seed{seed}, {});
            had_refused = had_refused || *drawn.whole_number("batch") == 512;
        }
    }
    CHECK(had_refused);
}

TEST_CASE("an enqueued trial that the guard refuses after it has waited keeps its values and ends as predicted") {
    Shared room{100 * mebibyte};
    Tuner tuner{sampler::Random{}, pruner::None{}, Learner{}, recovery::Fail{}};
    store::InMemory store;
    MemoryBound executor{100 * mebibyte};
    const Study study = store.open_study("s", {{Direction::minimize}}, Store::Open::create);
    store.enqueue(study.id, {{"batch", std::int64_t{8}}});
    store.enqueue(study.id, {{"batch", std::int64_t{512}}});
    const TuneResult result = tuner.optimize(store, "s", batches, executor, {.trials = 5, .reservations = &room});
    REQUIRE(result.trials.size() == 5);
    CHECK(result.trials[0].state == TrialState::complete);
    CHECK(result.trials[1].state == TrialState::pruned);  // its reason is memory, not its value
    CHECK(result.trials[1].params.whole_number("batch") == 512);
    CHECK(result.trials[1].user_attributes.at("error_message").find("predicted 512.00 MiB") != std::string::npos);
    CHECK(room.inside.empty());
    CHECK(room.left == room.asked);  // nothing that it asked for is left in a queue
}

TEST_CASE("an attempt that goes on with a lost trial keeps its plan, although it waits while the guard learns") {
    store::InMemory store;
    MemoryBound before{1000 * mebibyte};
    bool stops = false;
    before.on_submit = [&] { stops = before.free_slots() == 0; };
    TuneOptions options{.trials = 6, .plan = {.micro_batch = 4}, .effective_batch_parameter = "batch"};
    options.stop_requested = [&] { return stops; };
    Tuner first{sampler::Random{}, pruner::None{}, guard::Unlimited{}, recovery::Fail{}};
    REQUIRE(first.optimize(store, "s", batches, before, options).interrupted);
    Shared room{100 * mebibyte};
    room.takes_all = true;
    MemoryBound executor{100 * mebibyte};
    Tuner second{sampler::Random{}, pruner::None{}, Learner{}, recovery::Fail{}};
    const TuneResult result =
        second.optimize(store, "s", batches, executor, {.trials = 6, .effective_batch_parameter = "batch", .reservations = &room});
    CHECK(room.refused > 0);
    int again = 0;
    for (const Trial& trial : result.trials) {
        if (retry_history(trial).empty()) continue;
        ++again;
        CHECK(trial.attempts.at(0).plan.micro_batch == 4);
    }
    CHECK(again >= 2);  // one of them waited
}

namespace {

/// Proposes one choice after another, each for the trial of its number, whatever was refused.
struct Grid {
    double suggest(const Ask& ask) const { return static_cast<double>(ask.trial.number % 3); }
};
static_assert(Sampler<Grid>);

/// Knows what each takes.
struct Knowing {
    [[nodiscard]] Estimate estimate(const MemoryQuery& query) const {
        return {.need = *query.params.whole_number("batch") * mebibyte, .source = "known"};
    }
    [[nodiscard]] Evidence evidence() const { return Evidence::none; }
};
static_assert(MemoryGuard<Knowing>);

}  // namespace

TEST_CASE("a trial for which a sampler proposes only what the guard refuses ends as predicted, and the study goes on") {
    Tuner tuner{Grid{}, pruner::None{}, Knowing{}, recovery::Fail{}};
    store::InMemory store;
    MemoryBound executor{100 * mebibyte};
    const TuneResult result = tuner.optimize(store, "s", batches, executor, {.trials = 9});
    REQUIRE(result.trials.size() == 9);
    for (const Trial& trial : result.trials) {
        CHECK(trial.state == (trial.params.whole_number("batch") == 512 ? TrialState::pruned : TrialState::complete));
        CHECK(trial.params.find("batch")->internal == static_cast<double>(trial.number % 3));
    }
}

TEST_CASE("a study that is stopped while the guard is asked again about attempts that wait gives up their trials") {
    Shared room{100 * mebibyte};
    Tuner tuner{sampler::Random{}, pruner::None{}, Learner{}, recovery::Fail{}};
    store::InMemory store;
    MemoryBound executor{100 * mebibyte};
    const auto stop = [&] { return !executor.plans.empty(); };  // an attempt has ended
    const TuneResult result = tuner.optimize(store, "s", batches, executor, {.trials = 12, .stop_requested = stop, .reservations = &room});
    CHECK(result.interrupted);
    CHECK(room.inside.empty());
    REQUIRE(result.trials.size() == 3);
    CHECK(result.trials[0].state == TrialState::complete);
    for (const std::size_t waiting : {1U, 2U}) {
        CHECK(result.trials[waiting].state == TrialState::fail);
        CHECK(result.trials[waiting].user_attributes.contains(std::string{hpo::lost_attribute}));
    }
}

namespace {

/// Asks for dry runs however wrong they were.
struct AlwaysDry final : guard::PredictedGuard {
    static constexpr std::string_view name = "always_dry";
    static constexpr std::string_view summary = "asks for dry runs however wrong they were";
    [[nodiscard]] Evidence evidence() const { return Evidence::dry_run; }
};

}  // namespace

TEST_CASE("an attempt is capped at its reservation, and comes back with more when that was not enough") {
    Shared room{100 * mebibyte};
    room.takes_all = true;
    Tuner tuner{sampler::Random{}, pruner::None{}, AlwaysDry{}, recovery::ShrinkMicroBatch{}};
    store::InMemory store;
    MemoryBound executor{100 * mebibyte};
    executor.lie = 0.5;
    const TuneResult result =
        tuner.optimize(store, "s", batches, executor, {.trials = 30, .effective_batch_parameter = "batch", .reservations = &room});

    std::set<std::int64_t> seen;
    for (const Trial& trial : result.trials) {
        REQUIRE(trial.state == TrialState::complete);
        const auto batch = static_cast<std::int64_t>(*trial.params.number("batch"));
        seen.insert(batch);
        const Attempt& first = trial.attempts.front();
        CHECK(first.failure->memory.limit == first.estimate->need);
        CHECK_FALSE(first.plan.cap_bytes);  // the cap is the ledger's, and not of the plan
        if (batch <= 64) {                  // what it asked for is known, and is enough
            CHECK(first.failure->cause == OomCause::limit);
            CHECK_THAT(first.decision,
                       Catch::Contains("requires more than the ") && Catch::Contains(" that was reserved for it: runs again with more"));
            CHECK(trial.attempts[1].plan == first.plan);
            CHECK(trial.attempts.size() == 2);
            continue;
        }
        // Predicted to fit with 128 examples. What it asked for is more than the device has, so more of the device would not help.
        REQUIRE(trial.attempts.size() == 3);
        CHECK(first.plan.micro_batch == 128);
        CHECK(first.failure->cause == OomCause::capacity);
        CHECK(trial.attempts[1].plan.micro_batch == 64);
        CHECK(trial.attempts[1].failure->cause == OomCause::limit);  // predicted anew, by the same guard
    }
    CHECK(seen.size() == 3);
    CHECK(room.inside.empty());
    // Under a cap of the plan's own, a reservation above it is no excuse.
    Attempt limited;
    limited.plan.cap_bytes = 10;
    limited.failure.emplace().kind = FailureKind::out_of_memory;
    limited.failure->cause = OomCause::limit;
    CHECK_FALSE(tuner::exceeded_reservation(limited, 100, 100));
    CHECK_FALSE(tuner::exceeded_reservation(limited, 20, 100));
    CHECK(tuner::exceeded_reservation(limited, 5, 100));
    CHECK(tuner::cap_under_reservation(limited, 200, 100) == 10);
    limited.estimate.emplace().parts = {{"context", 3}, {"weights", 4}};
    CHECK(tuner::cap_under_reservation(limited, 8, 100) == 5);
    // All that the study may have of a GPU need not be all of the GPU.
    Attempt on_gpu;
    on_gpu.estimate = limited.estimate;
    CHECK_FALSE(tuner::cap_under_reservation(on_gpu, 100, 100));
    on_gpu.plan.device = "cuda:0";
    CHECK(tuner::cap_under_reservation(on_gpu, 100, 100) == 97);
}

TEST_CASE("what was not predicted is not held back, unless others of the study were predicted") {
    struct Sometimes {
        [[nodiscard]] Estimate estimate(const MemoryQuery& query) const {
            if (query.params.number("batch") == 8) return {.source = "sometimes"};
            return {.need = silent ? std::nullopt : std::optional{10 * mebibyte}, .source = "sometimes"};
        }
        [[nodiscard]] Evidence evidence() const { return Evidence::dry_run; }
        bool silent = false;
    };
    const auto run = [&](bool silent, bool predicts = false) {
        Shared room{100 * mebibyte};
        room.takes_all = true;
        Tuner tuner{sampler::Random{}, pruner::None{}, Sometimes{silent}, recovery::Fail{}};
        store::InMemory store;
        MemoryBound executor{1000 * mebibyte};
        static_cast<void>(
            tuner.optimize(store, "s", batches, executor,
                           {.trials = 30, .effective_batch_parameter = "batch", .reservations = &room, .predicts = predicts}));
        CHECK(room.inside.empty());
        return room;
    };
    CHECK(run(true).asked.empty());
    CHECK(run(true, true).together == 1);
    const Shared some = run(false);
    CHECK(some.together > 1);
    CHECK(some.alone > 0);
}

TEST_CASE("what an attempt turns out not to need is for others, and one that was wrong about it keeps what it gets then") {
    const Space eight = [](SpaceTrial& trial) { trial.suggest_categorical("batch", {std::int64_t{8}}); };
    constexpr std::int64_t need = 8 * mebibyte;
    store::InMemory store;
    Shared room{100 * mebibyte};
    MemoryBound executor{100 * mebibyte};
    const auto run = [&](const std::string& study, std::optional<std::int64_t> settles_at) {
        Tuner tuner{sampler::Random{}, pruner::None{}, guard::DryRun{}, recovery::Fail{}};
        room = Shared{100 * mebibyte};
        executor = MemoryBound{100 * mebibyte};
        executor.lie = 8;  // 64 MiB for 8
        executor.settles_at = settles_at;
        return tuner.optimize(store, study, eight, executor, {.trials = 10, .effective_batch_parameter = "batch", .reservations = &room});
    };
    run("as reserved", std::nullopt);
    CHECK(room.together == 1);

    for (const Trial& trial : run("settled", need).trials) {
        CHECK(trial.state == TrialState::complete);
        CHECK(trial.attempts.size() == 1);
    }
    CHECK(room.together == 3);  // workers
    CHECK(room.inside.empty());

    for (const Trial& trial : run("too low", need - 1).trials) {
        CHECK(trial.state == TrialState::complete);
        REQUIRE(trial.attempts.size() == 2);
        CHECK(trial.attempts[0].failure->cause == OomCause::limit);
        CHECK_FALSE(executor.settled.contains({trial.number, 1}));
    }
    CHECK(room.inside.empty());
}

TEST_CASE("a study that is stopped while attempts wait for room ends, and gives their place back") {
    Shared room{0};
    int looks = 0;
    Tuner tuner{sampler::Random{}, pruner::None{}, Exact{}, recovery::Fail{}};
    store::InMemory store;
    MemoryBound executor{100 * mebibyte};
    const TuneResult result = tuner.optimize(
        store, "s", batches, executor,
        {.trials = 10, .effective_batch_parameter = "batch", .stop_requested = [&] { return ++looks > 20; }, .reservations = &room});
    CHECK(result.interrupted);
    CHECK(room.asked.size() == 3);  // as many as there are workers
    CHECK(room.left == room.asked);
    for (const Trial& trial : result.trials) CHECK(trial.state == TrialState::fail);
}

TEST_CASE("a trial that a rule prunes keeps the rule's reason, and one that a policy prunes the field's word for it") {
    hpo::Trial trial;
    trial.attempts.emplace_back();
    hpo::Failure failure{.kind = hpo::FailureKind::out_of_memory, .message = "out of memory"};
    failure.cause = hpo::OomCause::capacity;
    trial.attempts.back().failure = failure;
    const auto reason_of = [&](bool of_rule) {
        hpo::Trial ended = trial;
        hpo::tuner::settle_failed(
            ended, failure, {.action = hpo::Recovery::Action::prune, .reason = "too large for my card", .is_reason_of_rule = of_rule}, {});
        hpo::tuner::add_source_attributes(ended);
        CHECK(ended.state == hpo::TrialState::pruned);
        CHECK_FALSE(ended.feasible());
        CHECK(ended.user_attributes.at("oom") == "true");
        return ended.user_attributes.at("prune_reason");
    };
    CHECK(reason_of(true) == "\"too large for my card\"");
    CHECK(reason_of(false) == "\"oom\"");
}
