// SPDX-License-Identifier: MIT
#include "hpo/tuner/finished_trial.hpp"

#include <malloc.h>
#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/core/memory_leak.hpp"
#include "hpo/guard/calibration/observation.hpp"
#include "hpo/guard/predicted_estimate.hpp"
#include "hpo/store/sqlite.hpp"
#include "hpo/tuner/bookkeeping.hpp"
#include "hpo/tuner/study_event.hpp"
#include "support/catch.hpp"
#include "support/sanitizer.hpp"
#include "support/temporary_directory.hpp"

using namespace hpo;

namespace {

constexpr std::int64_t one_mebibyte = 1 << 20;
const std::string refusal_message = "CUDA out of memory. " + std::string(300, 'm');
const std::string refusal_evidence = "asked for more than there is: " + std::string(80, 'e');
const std::string shrink_decision = "shrink_micro_batch: out of memory at micro-batch 32: retry at 16 with 2 accumulation steps";

MemoryMark memory_mark_of(std::string name, std::int64_t allocated) {
    return {
        .name = std::move(name), .seconds = 1, .step = std::nullopt, .reading = {.allocated = allocated, .capacity = 100 * one_mebibyte}};
}

/// An attempt as a guard and a device of 100 MiB leave it.
Attempt launched_attempt(std::int64_t micro_batch) {
    Attempt attempt;
    attempt.plan.effective_batch = 32;
    attempt.plan.micro_batch = micro_batch;
    attempt.estimate = Estimate{.need = 48 * one_mebibyte, .comfort = 48 * one_mebibyte, .source = "dry_run", .confidence = 0.98};
    attempt.estimate->parts = {{"weights", 16 * one_mebibyte}, {"activations", 24 * one_mebibyte}, {guard::context_part, 4 * one_mebibyte}};
    attempt.estimate->parts.push_back({guard::margin_part, 4 * one_mebibyte});
    attempt.capacity_bytes = 100 * one_mebibyte;
    attempt.device_name = "cpu";
    attempt.model_family = "soak";
    attempt.worker_pid = 7;
    return attempt;
}

Failure refusal() {
    Failure failure{.kind = FailureKind::out_of_memory, .message = refusal_message, .where = "forward"};
    failure.traceback = std::string(20'000, 't');
    failure.memory.allocated = 90 * one_mebibyte;
    failure.memory.capacity = 100 * one_mebibyte;
    failure.memory.neighbours = {{8, one_mebibyte}, {9, one_mebibyte}};
    failure.requested_bytes = 20 * one_mebibyte;
    failure.cause = OomCause::capacity;
    failure.evidence = refusal_evidence;
    return failure;
}

/// A trial of a study over a store. Its first attempt runs out of memory, and so does the second if it is to fail.
std::int64_t run_trial(tuner::Bookkeeping& books, bool fails) {
    static const auto unit = std::make_shared<const Distribution>(FloatDistribution{0, 1, false, {}});
    const std::int64_t number = books.begin_trial({.trials = 100'000}).value();
    ParamSet params;
    params.reserve(3);
    for (const char* name : {"x", "width", "batch"}) params.set(Param{name, unit, 0.5});
    books.set_params(number, std::move(params));
    for (const int index : {0, 1}) {
        books.begin_attempt(number, launched_attempt(index == 0 ? 32 : 16));
        for (const char* name : {"trial_start", "training_start", "training_end"}) books.memory_mark(number, memory_mark_of(name, 0));
        books.memory_mark(number, memory_mark_of("end", 2 * one_mebibyte));
        for (int step = 0; step < 3; ++step) books.report(number, {.step = step, .value = 0.25});
        Attempt& attempt = books.trial(number).attempts.back();
        attempt.seconds = 0.5;
        if (index == 0 || fails) {
            attempt.outcome = OutcomeKind::failed;
            attempt.failure = refusal();
            attempt.decision = shrink_decision;
        } else {
            attempt.outcome = OutcomeKind::complete;
            attempt.peak_allocated = attempt.peak_reserved = 40 * one_mebibyte;
        }
        books.end_attempt(number);
        if (index == 0) books.restart_reports(number, std::nullopt);
    }
    Trial& trial = books.trial(number);
    trial.state = fails ? TrialState::fail : TrialState::complete;
    if (!fails) trial.values = {0.25};
    trial.user_attributes["peak_memory_gb"] = "0.04194304";
    trial.constraints["memory"] = -0.5;
    books.finish(number);
    return number;
}

/// The study of a test, over a file.
struct FileStudy {
    tests::TemporaryDirectory folder;
    store::Sqlite store{folder.file("study.db")};
    TuneOptions options;
    SilentObserver observer;
    tuner::Bookkeeping books{store, "s", options, observer};
};

/// The bytes that the program has allocated for itself.
std::int64_t allocated_bytes() {
    const auto all = ::mallinfo2();
    return static_cast<std::int64_t>(all.uordblks + all.hblkhd) - ::sqlite3_memory_used();
}

}  // namespace

TEST_CASE("a finished trial keeps what policies read, and its store keeps the rest") {
    FileStudy study;
    const std::int64_t complete = run_trial(study.books, false);
    const std::int64_t failed = run_trial(study.books, true);
    for (const std::int64_t number : {complete, failed}) {
        const Trial& trial = study.books.trial(number);
        REQUIRE(trial.attempts.size() == 2);
        CHECK(trial.intermediate.size() == 3);
        CHECK(trial.attempts[0].reports.size() == 3);
        for (const Attempt& attempt : trial.attempts) {
            CHECK(guard::bare_need(*attempt.estimate) == 44 * one_mebibyte);
            CHECK(guard::bytes_of_part(*attempt.estimate, guard::context_part) == 4 * one_mebibyte);
            CHECK(attempt.estimate->parts.size() == 2);
            CHECK(held_beyond(attempt) == 2 * one_mebibyte);
            CHECK(attempt.memory.size() == 1);
            if (!attempt.failure) continue;
            CHECK(attempt.failure->kind == FailureKind::out_of_memory);
            CHECK(attempt.failure->cause == OomCause::capacity);
            CHECK(attempt.failure->where == "forward");
            CHECK(attempt.failure->requested_bytes == 20 * one_mebibyte);
            CHECK(attempt.failure->memory.allocated == 90 * one_mebibyte);
            CHECK(attempt.failure->memory.neighbours.empty());
            CHECK(attempt.failure->traceback.empty());
            CHECK(attempt.decision == shrink_decision);
        }
        CHECK(trial.attempts[0].failure->message.empty());
        CHECK(trial.attempts[0].failure->evidence.empty());
    }
    const Trial& last = study.books.trial(failed);
    CHECK(last.attempts[1].failure->message == refusal_message);  // equal failures are known by it
    CHECK(last.attempts[1].failure->evidence == refusal_evidence);

    std::vector<Trial> stored;
    study.store.refresh(study.books.study().id, stored);
    for (const Trial& trial : stored) {
        CHECK(trial.attempts[0].failure->message == refusal_message);
        CHECK(trial.attempts[0].failure->evidence == refusal_evidence);
        CHECK(trial.attempts[0].failure->traceback.size() == 20'000);
        CHECK(trial.attempts[0].failure->memory.neighbours.size() == 2);
        CHECK(trial.attempts[0].estimate->parts.size() == 4);
        CHECK(trial.attempts[0].memory.size() == 4);
    }
}

TEST_CASE("a finished trial of two attempts takes less than 3,300 bytes") {
    if (test::sanitized) {
        WARN("with a sanitizer, the allocated bytes are not known");
        return;
    }
    FileStudy study;
    constexpr int all = 1 << 11, before = 1 << 6;  // powers of two, at which the list of trials is full
    for (int i = 0; i < before; ++i) run_trial(study.books, i % 8 == 7);
    const std::int64_t begin = allocated_bytes();
    for (int i = before; i < all; ++i) run_trial(study.books, i % 8 == 7);
    const std::int64_t bytes = (allocated_bytes() - begin) / (all - before);
    CAPTURE(bytes);
    CHECK(bytes < 3300);
    CHECK(bytes > 2000);  // it counts what a trial holds at least
}

TEST_CASE("the error of a learned peak is the same once the details of its trial are dropped") {
    Trial trial;
    Attempt& attempt = trial.attempts.emplace_back();
    attempt.device_name = "cpu";
    attempt.outcome = OutcomeKind::complete;
    attempt.peak_reserved = 44 * one_mebibyte;
    attempt.estimate = Estimate{.need = 60 * one_mebibyte, .source = "learned", .confidence = 0.99};
    attempt.estimate->parts = {
        {"predicted", 45 * one_mebibyte}, {guard::uncertainty_part, 11 * one_mebibyte}, {guard::margin_part, 4 * one_mebibyte}};
    const auto before = guard::residual_of(trial, attempt);
    REQUIRE(before);
    CHECK(before->log_ratio < 0);
    CHECK(before->log_ratio > -0.1);  // 44 of 45 MiB is nearly what was predicted
    tuner::drop_details(trial);
    CHECK(guard::residual_of(trial, attempt)->log_ratio == before->log_ratio);
}
