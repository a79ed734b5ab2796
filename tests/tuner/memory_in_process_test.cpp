// SPDX-License-Identifier: MIT
// Guards and recovery policies with trial functions of this process.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "hpo/hpo.hpp"
#include "hpo/tuner/in_threads.hpp"
#include "hpo/tuner/study_event.hpp"
#include "support/catch.hpp"
#include "support/listener.hpp"

using namespace hpo;

namespace {

constexpr std::int64_t mebi = std::int64_t{1} << 20U;

const Space sizes = [](SpaceTrial& trial) { trial.suggest_int("mib", 1, 8); };
const Space one_batch = [](SpaceTrial& trial) { trial.suggest_categorical("batch", {std::int64_t{64}}); };

std::int64_t size_of(const ParamSet& params) { return *params.whole_number("mib") * mebi; }

/// Knows what a trial of `sizes` holds.
struct KnowsSizes {
    [[nodiscard]] Estimate estimate(const MemoryQuery& query) const { return {.need = size_of(query.params), .source = "sizes"}; }
    [[nodiscard]] Evidence evidence() const { return Evidence::none; }
};

/// Takes a mebibyte for each example of the micro-batch.
struct MebibyteAnExample {
    [[nodiscard]] Estimate estimate(const MemoryQuery& query) const {
        return {.need = query.plan.effective_micro_batch().value_or(1) * mebi, .source = "examples"};
    }
    [[nodiscard]] Evidence evidence() const { return Evidence::none; }
};

/// Halves the micro-batch, and keeps the failures that it was asked about.
struct Halves {
    [[nodiscard]] Recovery recover(const FailedAttempt& failed) const {
        seen->push_back(failed.failure);
        Recovery answer = recovery_of(failed, Recovery::Action::retry, "half");
        answer.plan.micro_batch = std::max<std::int64_t>(1, *failed.attempt.plan.effective_micro_batch() / 2);
        return answer;
    }
    std::shared_ptr<std::vector<Failure>> seen = std::make_shared<std::vector<Failure>>();
};

/// Counts what trials hold at once.
class HeldMemory {
public:
    void take(std::int64_t bytes) {
        const std::lock_guard lock{mutex_};
        now_ += bytes;
        most_ = std::max(most_, now_);
        ++holders_;
        most_holders_ = std::max(most_holders_, holders_);
        changed_.notify_all();
    }
    void give_back(std::int64_t bytes) {
        const std::lock_guard lock{mutex_};
        now_ -= bytes;
        --holders_;
    }
    /// Waits until so many hold something. Returns false if they did not come within a minute.
    bool await_holders(int count) {
        std::unique_lock lock{mutex_};
        return changed_.wait_for(lock, std::chrono::minutes{1}, [&] { return most_holders_ >= count; });
    }
    /// Waits a moment, or until more than `bytes` are held.
    void give_others_time(std::int64_t bytes) {
        std::unique_lock lock{mutex_};
        changed_.wait_for(lock, std::chrono::milliseconds{20}, [&] { return most_ > bytes; });
    }
    [[nodiscard]] std::int64_t most() const { return most_; }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::int64_t now_ = 0;
    std::int64_t most_ = 0;
    int holders_ = 0;
    int most_holders_ = 0;
};

}  // namespace

TEST_CASE("a guard refuses what does not fit the capacity of trials in this process") {
    tuner::InProcess executor{[](tuner::RunningJob& job) { return static_cast<double>(size_of(job.params())); },
                              {.capacity_bytes = 4 * mebi}};
    CHECK(executor.capacity_bytes() == 4 * mebi);
    store::InMemory store;
    Tuner tuner{sampler::Random{}, pruner::None{}, KnowsSizes{}};
    const TuneResult result = tuner.optimize(store, "s", sizes, executor, {.trials = 20});
    REQUIRE(result.trials.size() == 20);
    for (const Trial& trial : result.trials) {
        CHECK(size_of(trial.params) <= 4 * mebi);
        CHECK(trial.attempts.at(0).capacity_bytes == 4 * mebi);
    }
    CHECK_FALSE(store.rejections(result.study.id).empty());
}

TEST_CASE("a guard shrinks the plan of a trial function to the capacity, and the function sees it") {
    std::vector<std::int64_t> ran;
    tuner::InProcess executor{[&](tuner::RunningJob& job) {
                                  ran.push_back(*job.plan().effective_micro_batch());
                                  return 1.0;
                              },
                              {.capacity_bytes = 20 * mebi}};
    Tuner tuner{sampler::Random{}, pruner::None{}, MebibyteAnExample{}};
    const TuneResult result =
        tuner.optimize(store::InMemory{}, "s", one_batch, executor, {.trials = 1, .effective_batch_parameter = "batch"});
    CHECK(ran == std::vector<std::int64_t>{16});
    CHECK(result.trials.at(0).attempts.at(0).plan.accumulation_steps() == 4);
}

TEST_CASE("a trial function that says that it is out of memory is tried again with the plan that the recovery policy answers") {
    const auto function = [](tuner::RunningJob& job) {
        const std::int64_t held = 2 * mebi;
        const std::int64_t wanted = *job.plan().effective_micro_batch() * mebi;
        if (held + wanted > *job.memory_limit_bytes()) throw tuner::OutOfMemory{{.requested_bytes = wanted, .allocated_bytes = held}};
        return static_cast<double>(wanted);
    };
    const TuneOptions options{.trials = 1, .effective_batch_parameter = "batch"};
    tuner::InProcess alone{function, {.capacity_bytes = 20 * mebi}};
    tuner::InThreads threads{2, function, {.capacity_bytes = 20 * mebi}};
    for (Executor* const executor : {static_cast<Executor*>(&alone), static_cast<Executor*>(&threads)}) {
        const Halves halves;
        Tuner tuner{sampler::Random{}, pruner::None{}, guard::Unlimited{}, halves};
        const TuneResult result = tuner.optimize(store::InMemory{}, "s", one_batch, *executor, options);
        const Trial& trial = result.trials.at(0);
        CHECK(trial.state == TrialState::complete);
        CHECK(trial.values == std::vector{16.0 * mebi});
        REQUIRE(trial.attempts.size() == 3);
        CHECK(trial.attempts[2].plan.micro_batch == 16);
        REQUIRE(halves.seen->size() == 2);
        const Failure& first = halves.seen->front();
        CHECK(first.kind == FailureKind::out_of_memory);
        CHECK(first.cause == OomCause::capacity);
        CHECK(first.requested_bytes == 64 * mebi);
        CHECK(first.memory.allocated == 2 * mebi);
        CHECK(first.type == "hpo::tuner::OutOfMemory");
        CHECK(first.message == "out of memory: asked for 64.00 MiB with 2.00 MiB in use");
        CHECK(first.evidence == "asked for 64.00 MiB, more than the device's 20.00 MiB");
    }
}

TEST_CASE("a bad_alloc is out of memory of the CPU only if that memory is limited") {
    const auto fails = [](tuner::RunningJob& job) -> double {
        job.memory("filled", {.allocated = 15 * mebi, .peak_allocated = 15 * mebi});
        throw std::bad_alloc{};
    };
    const auto failure_of = [&](tuner::TrialMemory memory, const std::string& device) {
        TuneOptions options{.trials = 1};
        options.plan.device = device;
        tuner::InProcess executor{fails, memory};
        Tuner tuner{sampler::Random{}};
        const TuneResult result = tuner.optimize(store::InMemory{}, "s", one_batch, executor, options);
        return std::pair{*result.trials.at(0).attempts.at(0).failure, result.trials.at(0).state};
    };
    const auto [limited, state] = failure_of({.capacity_bytes = 16 * mebi}, "cpu");
    CHECK(limited.kind == FailureKind::out_of_memory);
    CHECK(limited.cause == OomCause::capacity);
    CHECK(limited.memory.allocated == 15 * mebi);
    CHECK(limited.evidence == "asked for more on top of the 15.00 MiB that the process has in use of 16.00 MiB");
    CHECK(state == TrialState::pruned);
    CHECK(failure_of({}, "cpu").first.kind == FailureKind::host_out_of_memory);
    CHECK(failure_of({.capacity_bytes = 16 * mebi}, "cuda:0").first.kind == FailureKind::host_out_of_memory);
}

TEST_CASE("an objective that asks while it runs may say that it is out of memory, too") {
    Tuner tuner{sampler::Random{}};
    const auto objective = [](LiveTrial& trial) -> double {
        trial.suggest_float("x", 0, 1);
        throw tuner::OutOfMemory{{.requested_bytes = 7}};
    };
    const TuneResult result = tuner.optimize(store::InMemory{}, "s", objective, {.trials = 1});
    const Failure& failure = *result.trials.at(0).attempts.at(0).failure;
    CHECK(failure.kind == FailureKind::out_of_memory);
    CHECK(failure.requested_bytes == 7);
}

TEST_CASE("an attempt that exceeds what a guard let it reserve runs again with more, and the recovery policy is not asked") {
    struct HalfOfIt {
        [[nodiscard]] Estimate estimate(const MemoryQuery& query) const { return {.need = size_of(query.params) / 2, .source = "half"}; }
        [[nodiscard]] Evidence evidence() const { return Evidence::none; }
    };
    tuner::InThreads threads{2,
                             [](tuner::RunningJob& job) {
                                 if (size_of(job.params()) > *job.memory_limit_bytes())
                                     throw tuner::OutOfMemory{{.requested_bytes = size_of(job.params()), .allocated_bytes = 0}};
                                 return 1.0;
                             },
                             {.capacity_bytes = 16 * mebi}};
    const Halves halves;
    Tuner tuner{sampler::Random{}, pruner::None{}, HalfOfIt{}, halves};
    const TuneResult result = tuner.optimize(store::InMemory{}, "s", sizes, threads, {.trials = 10});
    CHECK(halves.seen->empty());
    for (const Trial& trial : result.trials) {
        CHECK(trial.state == TrialState::complete);
        REQUIRE(trial.attempts.size() == 2);
        CHECK(trial.attempts[0].failure->cause == OomCause::limit);
    }
}

TEST_CASE("with a guard, trials in threads hold no more at once than the capacity, or than the plan's cap if there is none") {
    const auto most_held = [](tuner::TrialMemory memory, std::optional<std::int64_t> cap_bytes) {
        HeldMemory held;
        tuner::InThreads threads{4,
                                 [&](tuner::RunningJob& job) {
                                     const std::int64_t bytes = size_of(job.params());
                                     held.take(bytes);
                                     held.give_others_time(16 * mebi);
                                     held.give_back(bytes);
                                     return static_cast<double>(bytes);
                                 },
                                 memory};
        TuneOptions options{.trials = 60};
        options.plan.cap_bytes = cap_bytes;
        Tuner tuner{sampler::Random{}, pruner::None{}, KnowsSizes{}};
        const TuneResult result = tuner.optimize(store::InMemory{}, "s", sizes, threads, options);
        REQUIRE(result.trials.size() == 60);
        for (const Trial& trial : result.trials) CHECK(trial.state == TrialState::complete);
        return held.most();
    };
    CHECK(most_held({.capacity_bytes = 16 * mebi}, std::nullopt) <= 16 * mebi);
    CHECK(most_held({}, 16 * mebi) <= 16 * mebi);
}

TEST_CASE("the plan's cap bounds each trial, and the capacity all of them") {
    const Space eight = [](SpaceTrial& trial) { trial.suggest_categorical("mib", {std::int64_t{8}}); };
    HeldMemory held;
    std::atomic<bool> is_capped = true;
    tuner::InThreads threads{2,
                             [&](tuner::RunningJob& job) {
                                 if (job.memory_limit_bytes() != 8 * mebi) is_capped = false;
                                 held.take(8 * mebi);
                                 const bool met = held.await_holders(2);
                                 held.give_back(8 * mebi);
                                 if (!met) throw std::runtime_error{"alone"};
                                 return 1.0;
                             },
                             {.capacity_bytes = 16 * mebi}};
    TuneOptions options{.trials = 4};
    options.plan.cap_bytes = 8 * mebi;
    Tuner tuner{sampler::Random{}, pruner::None{}, KnowsSizes{}};
    const TuneResult result = tuner.optimize(store::InMemory{}, "s", eight, threads, options);
    for (const Trial& trial : result.trials) CHECK(trial.state == TrialState::complete);
    CHECK(is_capped);
}

TEST_CASE("as many trials run at once as fit by their estimates, and all slots if the guard estimates nothing") {
    const Space eight = [](SpaceTrial& trial) { trial.suggest_categorical("mib", {std::int64_t{8}}); };
    const auto most_held = [&](auto guard, int expected) {
        HeldMemory held;
        tuner::InThreads threads{4,
                                 [&](tuner::RunningJob& job) {
                                     held.take(size_of(job.params()));
                                     const bool met = held.await_holders(expected);
                                     held.give_back(size_of(job.params()));
                                     if (!met) throw std::runtime_error{"too few came"};
                                     return 1.0;
                                 },
                                 {.capacity_bytes = 16 * mebi}};
        Tuner tuner{sampler::Random{}, pruner::None{}, guard};
        const TuneResult result = tuner.optimize(store::InMemory{}, "s", eight, threads, {.trials = 8});
        for (const Trial& trial : result.trials) CHECK(trial.state == TrialState::complete);
        return held.most();
    };
    CHECK(most_held(KnowsSizes{}, 2) == 16 * mebi);
    CHECK(most_held(guard::Unlimited{}, 4) == 32 * mebi);
}

TEST_CASE("reservations that the caller gives take the place of the tuner's own") {
    struct Counts final : Reservations {
        std::optional<std::int64_t> reserve(const ReservationRequest& request) override {
            ++asked;
            return request.need_bytes;
        }
        void release(std::int64_t /*trial*/) override {}
        int asked = 0;
    } counts;
    tuner::InThreads threads{4, [](tuner::RunningJob&) { return 1.0; }, {.capacity_bytes = 16 * mebi}};
    Tuner tuner{sampler::Random{}, pruner::None{}, KnowsSizes{}};
    tuner.optimize(store::InMemory{}, "s", sizes, threads, {.trials = 5, .reservations = &counts});
    CHECK(counts.asked == 5);
}

TEST_CASE("a peak that a trial function tells is in the store, and a guard that learns sees it") {
    /// Estimates the highest peak per MiB of size so far. Before that it estimates nothing.
    struct Learns {
        [[nodiscard]] Estimate estimate(const MemoryQuery& query) const {
            Estimate estimate{.source = "learns"};
            for (const Trial& trial : query.history.trials) {
                for (const Attempt& attempt : trial.attempts) {
                    if (!attempt.peak_allocated) continue;
                    const auto scaled = *attempt.peak_allocated / *trial.params.whole_number("mib") * *query.params.whole_number("mib");
                    estimate.need = std::max(estimate.need.value_or(0), scaled);
                }
            }
            return estimate;
        }
        [[nodiscard]] Evidence evidence() const { return Evidence::none; }
    };
    const auto function = [](tuner::RunningJob& job) {
        const std::int64_t bytes = 2 * size_of(job.params());
        job.memory("training_start", {.allocated = bytes / 2});
        job.memory("end", {.allocated = 0, .peak_allocated = bytes, .peak_reserved = bytes + 1});
        return 1.0;
    };
    tuner::InProcess alone{function, {.capacity_bytes = 12 * mebi}};
    tuner::InThreads threads{1, function, {.capacity_bytes = 12 * mebi}};
    for (Executor* const executor : {static_cast<Executor*>(&alone), static_cast<Executor*>(&threads)}) {
        store::InMemory store;
        Tuner tuner{sampler::Random{}, pruner::None{}, Learns{}};
        const TuneResult result = tuner.optimize(store, "s", sizes, *executor, {.trials = 20});
        std::vector<Trial> stored;
        store.refresh(result.study.id, stored);
        REQUIRE(stored.size() == 20);
        for (const Trial& trial : stored) {
            const Attempt& attempt = trial.attempts.at(0);
            CHECK(attempt.peak_allocated == 2 * size_of(trial.params));
            CHECK(attempt.peak_reserved == 2 * size_of(trial.params) + 1);
            if (trial.number == 0) continue;  // nothing was known yet
            CHECK(attempt.estimate->need == 2 * size_of(trial.params));
            CHECK(2 * size_of(trial.params) <= 12 * mebi);
        }
        const Attempt& first = stored.front().attempts.at(0);
        REQUIRE(first.memory.size() == 2);
        CHECK(first.memory[0].name == "training_start");
        CHECK(first.memory[0].reading.allocated == size_of(stored.front().params));
        CHECK(first.memory[1].name == "end");
    }
}

TEST_CASE("figures that are no sizes of memory are left out, because readers of the store would stumble over them") {
    int runs = 0;
    tuner::InProcess executor{[&](tuner::RunningJob& job) {
        job.memory("end", {.allocated = 5, .free = -1, .peak_allocated = -1, .peak_reserved = std::int64_t{1} << 62U});
        if (runs++ == 0) throw tuner::OutOfMemory{{.requested_bytes = 7, .allocated_bytes = -3}};
        return 1.0;
    }};
    store::InMemory store;
    Tuner tuner{sampler::Random{}};
    const TuneResult result = tuner.optimize(store, "odd figures", sizes, executor, {.trials = 2});
    std::vector<Trial> stored;
    store.refresh(result.study.id, stored);
    REQUIRE(stored.size() == 2);
    REQUIRE(stored[0].attempts.at(0).failure);
    CHECK_FALSE(stored[0].attempts[0].failure->memory.allocated);
    CHECK(stored[0].attempts[0].failure->requested_bytes == 7);
    REQUIRE(stored[1].attempts.at(0).memory.size() == 1);
    const MemoryReading& reading = stored[1].attempts[0].memory[0].reading;
    CHECK(reading.allocated == 5);
    CHECK(reading.free == -1);
    CHECK_FALSE(reading.peak_allocated);
    CHECK(reading.peak_reserved == std::int64_t{1} << 62U);
    CHECK_FALSE(stored[1].attempts[0].peak_allocated);
}

TEST_CASE("memory marks of trials in threads come on the tuner's thread, before the report that follows them") {
    std::vector<std::string> told;
    bool own_thread = true;
    test::Listener observer{[&, thread = std::this_thread::get_id()](const event::MemoryMarked& event) {
                                told.push_back(std::to_string(event.trial.number) + " " + event.mark.name);
                                own_thread = own_thread && std::this_thread::get_id() == thread;
                            },
                            [&](const event::Reported& event) {
                                told.push_back(std::to_string(event.trial.number) + " report " + std::to_string(event.report.step));
                            }};
    tuner::InThreads threads{1, [](tuner::RunningJob& job) {
                                 for (int step = 1; step <= 2; ++step) {
                                     job.memory("step", {.allocated = step});
                                     if (!job.report(step, 0)) return 0.0;
                                 }
                                 job.memory("end", {.allocated = 0});
                                 return 1.0;
                             }};
    Tuner tuner{sampler::Random{}};
    tuner.optimize(store::InMemory{}, "s", sizes, threads, {.trials = 1}, observer);
    CHECK(told == std::vector<std::string>{"0 step", "0 report 1", "0 step", "0 report 2", "0 end"});
    CHECK(own_thread);
}

TEST_CASE("an attempt that has settled at less than its estimate lets another one start beside it") {
    const Space twelve = [](SpaceTrial& trial) { trial.suggest_categorical("mib", {std::int64_t{12}}); };
    HeldMemory held;
    tuner::InThreads threads{2,
                             [&](tuner::RunningJob& job) {
                                 held.take(4 * mebi);
                                 job.memory(settled_mark, {.limit = 4 * mebi});
                                 const bool met = held.await_holders(2);
                                 held.give_back(4 * mebi);
                                 if (!met) throw std::runtime_error{"alone"};
                                 return 1.0;
                             },
                             {.capacity_bytes = 16 * mebi}};
    Tuner tuner{sampler::Random{}, pruner::None{}, KnowsSizes{}};
    const TuneResult result = tuner.optimize(store::InMemory{}, "s", twelve, threads, {.trials = 2});
    for (const Trial& trial : result.trials) CHECK(trial.state == TrialState::complete);
}

TEST_CASE("what the tuner throws about a memory mark is no failure of the trial") {
    test::Listener observer{[](const event::MemoryMarked&) { throw std::runtime_error{"the display broke"}; }};
    const auto function = [](tuner::RunningJob& job) {
        job.memory("begin", {.allocated = 1});
        return 1.0;
    };
    tuner::InProcess alone{function};
    tuner::InThreads threads{2, function};
    Tuner tuner{sampler::Random{}};
    for (Executor* const executor : {static_cast<Executor*>(&alone), static_cast<Executor*>(&threads)})
        CHECK_THROWS_WITH(tuner.optimize(store::InMemory{}, "s", sizes, *executor, {.trials = 3}, observer), "the display broke");
}

TEST_CASE("a capacity of nothing is refused") {
    const auto function = [](tuner::RunningJob&) { return 1.0; };
    CHECK_THROWS_WITH((tuner::InProcess{function, {.capacity_bytes = 0}}), "capacity_bytes: got 0; expected 1 or more");
    CHECK_THROWS_WITH((tuner::InThreads{2, function, {.capacity_bytes = -1}}), "capacity_bytes: got -1; expected 1 or more");
}
