// SPDX-License-Identifier: MIT
#include "hpo/analysis/memory_report.hpp"

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "hpo/analysis/oom.hpp"
#include "hpo/failure/cause.hpp"
#include "support/catch.hpp"

using namespace hpo;
using namespace hpo::analysis;

namespace {

constexpr std::int64_t mebibyte = 1 << 20;

/// A trial of batch `batch` that was predicted to need `predicted` and took `took`, or ran out of 1000 MiB.
Trial ran(std::int64_t number, double batch, std::int64_t predicted, std::int64_t took) {
    Trial trial;
    trial.number = number;
    trial.params.set("batch", IntDistribution{1, 1000, false, 1}, batch);
    trial.params.set("lr", FloatDistribution{0, 1, false, std::nullopt}, 0.01 * static_cast<double>(number % 7));
    Attempt attempt;
    attempt.capacity_bytes = 1000 * mebibyte;
    attempt.device_name = "a card";
    if (predicted > 0) {
        attempt.estimate.emplace();
        attempt.estimate->source = "dry_run";
        attempt.estimate->confidence = 0.99;
        attempt.estimate->need = attempt.estimate->comfort = predicted * mebibyte;
        attempt.estimate->parts = {{"weights", predicted * mebibyte * 4 / 5},
                                   {"margin", predicted * mebibyte - predicted * mebibyte * 4 / 5}};
    }
    if (took <= 1000) {
        trial.state = TrialState::complete;
        trial.values = {0.5};
        attempt.outcome = OutcomeKind::complete;
        attempt.peak_allocated = took * mebibyte;
    } else {
        trial.state = TrialState::pruned;
        trial.constraints["memory"] = 0.1;
        attempt.outcome = OutcomeKind::failed;
        attempt.failure = Failure{.kind = FailureKind::out_of_memory, .message = "out of memory"};
        attempt.failure->cause = OomCause::capacity;
        attempt.failure->memory.allocated = 990 * mebibyte;
        attempt.failure->memory.capacity = 1000 * mebibyte;
        attempt.failure->requested_bytes = (took - 990) * mebibyte;
    }
    trial.attempts.push_back(std::move(attempt));
    return trial;
}

}  // namespace

TEST_CASE("predictions are held against what was measured, by source, with the guard's margin and without") {
    std::vector<Trial> trials;
    for (std::int64_t i = 0; i < 20; ++i) trials.push_back(ran(i, 10, 500, 400));  // exactly what was predicted before the margin
    trials.push_back(ran(20, 10, 500, 600));
    trials.push_back(ran(21, 90, 950, 1100));
    trials.push_back(ran(22, 10, 0, 300));  // not predicted
    trials.push_back(ran(23, 10, 100, 50));
    trials.back().attempts[0].estimate->source = "formula";
    const MemoryReport report = memory_report(trials, {}, {});
    CHECK(report.predicted_attempts == 23);
    REQUIRE(report.calibration.size() == 2);
    const CalibrationRow& row = report.calibration[0];
    CHECK(row.source == "dry_run");
    CHECK(row.claimed == 0.99);
    CHECK(row.attempts == 22);
    CHECK(row.ran_out == 1);
    CHECK(row.underestimated == 2);
    CHECK(row.underestimate_rate() == Approx(2.0 / 22));
    CHECK(*row.low == Approx(1));
    CHECK(*row.median == Approx(1));
    CHECK(report.calibration[1].source == "formula");
    CHECK(*report.calibration[1].median == Approx(50 / 80.0));
    CHECK(report.devices == std::vector<std::string>{"a card"});
    CHECK(report.capacity_bytes == 1000 * mebibyte);
    CHECK(report.highest->trial->number == 20);
    CHECK(*report.highest_share() == Approx(0.6));
}

TEST_CASE("after a change of the device's memory each attempt is held against what it had") {
    std::vector<Trial> trials{ran(0, 10, 0, 800), ran(1, 10, 0, 300), ran(2, 10, 0, 450)};
    for (std::size_t i = 1; i < trials.size(); ++i) trials[i].attempts[0].capacity_bytes = 500 * mebibyte;
    MemoryReport report = memory_report(trials, {}, {});
    CHECK(report.capacity_bytes == 500 * mebibyte);
    CHECK(report.other_capacities == std::vector{1000 * mebibyte});
    CHECK(report.share_of({.trial = &trials[0], .bytes = 800 * mebibyte}) == Approx(0.8));
    CHECK(report.share_of({.trial = &trials[1], .bytes = 300 * mebibyte}) == Approx(0.6));
    CHECK(report.highest->trial->number == 2);
    CHECK(*report.highest_share() == Approx(0.9));
    CHECK(report.headroom_bytes() == 50 * mebibyte);
    // A trial may have run on both. The attempt that used so much counts.
    Attempt first = trials[1].attempts[0];
    first.capacity_bytes = 1000 * mebibyte;
    first.peak_allocated = first.peak_reserved = 700 * mebibyte;
    trials[1].attempts.insert(trials[1].attempts.begin(), first);
    report = memory_report(trials, {}, {});
    CHECK(report.share_of({.trial = &trials[1], .bytes = 700 * mebibyte}) == Approx(0.7));
    CHECK_FALSE(memory_report({}, {}, {}).headroom_bytes());
}

TEST_CASE("on devices of different size each trial is held against its own") {
    std::vector<Trial> trials{ran(0, 10, 0, 800), ran(1, 10, 0, 190), ran(2, 10, 0, 100)};
    for (std::size_t i = 0; i < trials.size(); ++i) {
        Attempt& attempt = trials[i].attempts[0];
        attempt.plan.device = i == 0 ? "cuda:0" : "cuda:1";
        attempt.capacity_bytes = (i == 0 ? 1000 : 200) * mebibyte;
    }
    const MemoryReport report = memory_report(trials, {}, {});
    CHECK(report.capacities == std::map<std::string, std::int64_t>{{"cuda:0", 1000 * mebibyte}, {"cuda:1", 200 * mebibyte}});
    CHECK(report.highest->trial->number == 1);
    CHECK(*report.highest_share() == Approx(0.95));
    CHECK(report.headroom_bytes() == 10 * mebibyte);
    CHECK(*report.share_of(report.top.front()) == Approx(0.8));
}

TEST_CASE("a prediction is exceeded by more than a thousandth of it, whatever the sizes") {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    CHECK_FALSE(hpo::analysis::exceeds_prediction(1001, 1000));
    CHECK(hpo::analysis::exceeds_prediction(1002, 1000));
    CHECK_FALSE(hpo::analysis::exceeds_prediction(1 << 20, most));
    CHECK(hpo::analysis::exceeds_prediction(most, 1 << 20));
}

TEST_CASE("a measurement between what is required and what keeps the cache was predicted") {
    Trial trial = ran(0, 1, 500, 800);
    trial.attempts[0].estimate->comfort = 700 * mebibyte;
    trial.attempts[0].estimate->parts.clear();
    trial.attempts[0].peak_allocated = 650 * mebibyte;
    CHECK_FALSE(predicted_uses({&trial, 1}).at(0).too_low());
    trial.attempts[0].peak_allocated = 701 * mebibyte;
    CHECK(predicted_uses({&trial, 1}).at(0).too_low());
    trial.attempts[0].peak_allocated = 700 * mebibyte + 4;  // a few bytes are no matter
    CHECK_FALSE(predicted_uses({&trial, 1}).at(0).too_low());
}

TEST_CASE("of a learned peak the measured one is told, whatever its uncertainty") {
    std::vector<Trial> trials(1);
    Attempt& attempt = trials[0].attempts.emplace_back();
    attempt.device_name = "cpu";
    attempt.outcome = OutcomeKind::complete;
    attempt.peak_reserved = 44 * mebibyte;
    attempt.estimate = hpo::Estimate{.need = 60 * mebibyte, .source = "learned", .confidence = 0.99};
    attempt.estimate->parts = {{"predicted", 45 * mebibyte}, {"uncertainty", 11 * mebibyte}, {"margin", 4 * mebibyte}};
    const auto uses = hpo::analysis::predicted_uses(trials);
    REQUIRE(uses.size() == 1);
    CHECK(uses[0].used == 44 * mebibyte);
    CHECK_FALSE(uses[0].too_low());
}

TEST_CASE("trials above a limit are those that took more, and those that ran out of what is at least as much") {
    std::vector<Trial> trials;
    for (std::int64_t i = 1; i <= 10; ++i) trials.push_back(ran(i - 1, static_cast<double>(i), 0, 95 * i));
    trials.push_back(ran(10, 11, 0, 1045));
    const auto above = [&](const MemoryLimit& limit) {
        std::vector<std::int64_t> numbers;
        for (const TrialUse& use : memory_report(trials, {}, limit).above_limit) numbers.push_back(use.trial->number);
        return numbers;
    };
    CHECK(above({.bytes = 760 * mebibyte, .share = {}}) == std::vector<std::int64_t>{10, 9, 8});
    CHECK(above({.bytes = {}, .share = 0.9}) == std::vector<std::int64_t>{10, 9});
    CHECK(above({.bytes = {}, .share = 1.0}) == std::vector<std::int64_t>{10});
    CHECK(above({.bytes = {}, .share = {}}).empty());
    std::vector<Trial> moved = trials;  // from a device of twice the memory
    for (std::size_t i = 0; i < 10; i += 2) moved[i].attempts[0].capacity_bytes = 2000 * mebibyte;
    CHECK(memory_report(moved, {}, {.bytes = {}, .share = 0.75}).above_limit.size() == 3);  // trials 7, 9 and 10
    const MemoryReport report = memory_report(trials, {}, {.bytes = 400 * mebibyte, .share = {}});
    CHECK(report.top.front().bytes == 950 * mebibyte);
    CHECK(report.measured_trials == 10);
    CHECK_FALSE(report.safe);  // too few trials below it
}

TEST_CASE("the safe region has no trial that needed too much, and no condition that is not needed") {
    std::vector<Trial> trials;
    for (std::int64_t i = 0; i < 60; ++i) {
        const double batch = static_cast<double>(1 + i % 20);
        trials.push_back(ran(i, batch, 0, static_cast<std::int64_t>(batch) * 70));
    }
    const MemoryReport report = memory_report(trials, {}, {});
    REQUIRE(report.safe);
    CHECK(describe(report.safe->region) == "batch <= 14");
    CHECK(report.safe->trials == 42);
    CHECK(report.safe->rate_bound() == Approx(3.0 / 42));
    const MemoryReport half = memory_report(trials, {}, {.bytes = {}, .share = 0.5});
    REQUIRE(half.safe);
    CHECK(describe(half.safe->region) == "batch <= 7");
    std::erase_if(trials, [](const Trial& trial) { return trial.state == TrialState::pruned; });
    CHECK(memory_report(trials, {}, {}).safe->region.empty());
    CHECK_FALSE(memory_report({}, {}, {}).safe);
    // What was refused never ran, so it shows nothing safe. Below a limit it says nothing.
    const auto refused = [](double batch, std::int64_t bytes) {
        Rejection rejection{.params = ran(0, batch, 0, bytes / mebibyte).params, .estimate = Estimate{}};
        rejection.estimate->need = bytes;
        return rejection;
    };
    const std::vector<Rejection> rejections{refused(10, 1100 * mebibyte), refused(12, 1200 * mebibyte)};
    const MemoryReport guarded = memory_report(trials, rejections, {});
    REQUIRE(guarded.safe);
    CHECK(describe(guarded.safe->region) == "batch <= 9");
    CHECK(memory_report(trials, rejections, {.bytes = 2000 * mebibyte, .share = {}}).safe->region.empty());
}

TEST_CASE("a trial that ran out of memory is no safe one, whether or not a later attempt ran") {
    std::vector<Trial> trials;
    for (std::int64_t i = 0; i < 8; ++i) trials.push_back(ran(i, 1 + static_cast<double>(i), 0, 100 * i + 100));
    for (std::int64_t i = 8; i < 14; ++i) {  // at first 1100 MiB, of which the device has 1000; then in smaller pieces 300
        trials.push_back(ran(i, 20 + static_cast<double>(i), 0, 1100));
        Trial& trial = trials.back();
        trial.attempts[0].peak_allocated = 990 * mebibyte;
        trial.attempts.push_back(ran(i, 1, 0, 300).attempts[0]);
        trial.state = TrialState::complete;
        trial.values = {0.5};
        trial.constraints.clear();
    }
    trials[12].attempts[0].failure->cause = OomCause::neighbour;  // of these two the parameters are not to blame
    trials[13].attempts[0].failure->cause = OomCause::limit;
    trials[13].attempts[0].failure->memory.limit = 500 * mebibyte;
    const MemoryReport report = memory_report(trials, {}, {});
    CHECK(report.counts.oom_trials == 6);
    CHECK(report.counts.recovered_trials == 6);
    REQUIRE(report.safe);
    CHECK(describe(report.safe->region) == "batch <= 8");
    CHECK(report.safe->trials == 8);
    CHECK(report.highest->bytes == 800 * mebibyte);  // 990 MiB were not enough
    CHECK_FALSE(report.top.front().ran_out);
    CHECK(report.top.front().recovered);
    std::size_t left_out = 0;
    for (const Trial& trial : trials) {
        const auto& failure = trial.attempts[0].failure;
        left_out += failure && !follows_from_configuration(*failure->cause) ? 1 : 0;
    }
    CHECK(report.neither_safe_nor_not == left_out);
    CHECK(left_out > 0);
    std::erase_if(trials, [](const Trial& trial) { return trial.attempts.size() == 1; });
    CHECK_FALSE(memory_report(trials, {}, {}).safe);  // nothing is known to be safe
}

TEST_CASE("memory and oom count predictions that were too low alike, without what the process held before") {
    std::vector<Trial> trials{ran(0, 10, 500, 400), ran(1, 10, 500, 400), ran(2, 10, 500, 1100)};
    const auto held = [](Trial& trial, std::int64_t before, std::int64_t peak) {
        MemoryMark start{"trial_start", 0, std::nullopt, {}};
        start.reading.allocated = before * mebibyte;
        trial.attempts[0].memory.push_back(start);
        trial.attempts[0].peak_allocated = peak * mebibyte;
    };
    held(trials[0], 700, 1088);  // more than the device has, of which 700 were an earlier attempt's
    held(trials[1], 200, 900);
    const MemoryReport report = memory_report(trials, {}, {});
    const auto oom = hpo::analysis::oom_report(trials, {});
    REQUIRE(report.calibration.size() == 1);
    CHECK(report.calibration[0].attempts - report.calibration[0].ran_out == 2);
    CHECK(oom.prediction.attempts == 2);
    CHECK(report.calibration[0].underestimated - report.calibration[0].ran_out == 1);
    CHECK(oom.prediction.underestimated == 1);
}
