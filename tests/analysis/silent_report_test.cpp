// SPDX-License-Identifier: MIT
#include "hpo/analysis/silent_failures/silent_report.hpp"

#include <array>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "hpo/analysis/failure_totals.hpp"
#include "hpo/failure/classify.hpp"
#include "support/catch.hpp"

using namespace hpo::analysis;

namespace {

/// A trial of another program, `start` and `seconds` after the study's begin.
hpo::Trial ran(std::int64_t number, hpo::TrialState state, double start, double seconds, int reports = 0) {
    hpo::Trial trial;
    trial.number = number;
    trial.state = state;
    trial.started = hpo::Time{std::chrono::microseconds{1'000'000'000'000 + static_cast<std::int64_t>(start * 1e6)}};
    if (seconds >= 0) trial.completed = *trial.started + std::chrono::microseconds{static_cast<std::int64_t>(seconds * 1e6)};
    if (state == hpo::TrialState::complete) trial.values = {0.5};
    for (int step = 0; step < reports; ++step) trial.intermediate[step] = 0.1;
    trial.params.set("batch_size", hpo::IntDistribution{8, 64, false, 8}, 8);
    return trial;
}

SilentReport report_of(const std::vector<hpo::Trial>& trials) { return silent_report(failure_cases(trials), trials); }

std::vector<hpo::Trial> one_after_another(int count, double seconds, int reports) {
    std::vector<hpo::Trial> trials;
    for (int i = 0; i < count; ++i) trials.push_back(ran(i, hpo::TrialState::complete, i * (seconds + 1), seconds, reports));
    return trials;
}

constexpr auto fail = hpo::TrialState::fail;

}  // namespace

TEST_CASE("the row of a failure without a message tells what it looks like") {
    auto trials = one_after_another(20, 60, 10);
    double now = 20 * 61;
    const auto add = [&](double seconds, int reports) -> hpo::Trial& {
        trials.push_back(ran(static_cast<std::int64_t>(trials.size()), fail, now, seconds, reports));
        now += seconds + 1;
        return trials.back();
    };
    add(0.01, 0).params = {};
    add(2, 0);
    add(61, 10);
    add(30, 4);
    add(61, 0);
    add(60, 7).intermediate[6] = std::nan("");
    add(30, 2);
    trials.back().number = 26;
    trials.push_back(ran(27, hpo::TrialState::complete, now, 60, 10));
    trials.back().system_attributes["failed_trial"] = "26";
    trials.back().system_attributes["retry_history"] = "[26]";
    const SilentReport report = report_of(trials);
    using enum SilentPattern;
    const std::vector<SilentPattern> expected{before_params, at_once, as_long, between, as_long, last_report, vanished};
    REQUIRE(report.failures.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        CAPTURE(i);
        CHECK(report.failures[i].pattern == expected[i]);
        CHECK(report.failures[i].next_after.value() == Approx(1));
        CHECK_FALSE(report.failures[i].before_any_complete);
    }
    CHECK(report.failures.back().repeated_by == 27);
    CHECK(report.pace.trials == 21);
    CHECK(report.pace.most_seconds == Approx(60));
}

TEST_CASE("failures in the same second are one event only where the trials ran beside each other") {
    auto trials = one_after_another(10, 60, 0);
    for (int i = 0; i < 3; ++i) trials.push_back(ran(10 + i, fail, 1000 + i * 10, 45.2 - i * 10 + 0.1 * i));  // end at 1045.2, .3, .4
    auto report = report_of(trials);
    REQUIRE(report.failures.size() == 3);
    for (const auto& entry : report.failures) {
        CHECK(entry.pattern == SilentPattern::together);
        CHECK(entry.together_with.size() == 2);
    }
    trials.resize(10);
    for (int i = 0; i < 3; ++i) trials.push_back(ran(10 + i, fail, 1000 + i * 0.2, 0.1));  // quick ones, one after another
    report = report_of(trials);
    for (const auto& entry : report.failures) CHECK(entry.pattern == SilentPattern::at_once);
}

TEST_CASE("what came next is said only where nothing else ran") {
    std::vector<hpo::Trial> trials{ran(0, fail, 0, 10), ran(1, hpo::TrialState::complete, 5, 100),
                                   ran(2, hpo::TrialState::complete, 200, 10), ran(3, fail, 300, 10),
                                   ran(4, hpo::TrialState::complete, 4000, 10)};
    auto report = report_of(trials);
    REQUIRE(report.failures.size() == 2);
    CHECK_FALSE(report.failures[0].next_after);  // trial 1 ran beside it
    CHECK(report.failures[1].next_after.value() == Approx(3690));
    trials[1].started = trials[0].started;  // beside it from the beginning, but another process
    for (std::size_t i = 0; i < trials.size(); ++i) trials[i].user_attributes["pid"] = i == 1 ? "2" : "1";
    report = report_of(trials);
    CHECK(report.failures[0].next_after.value() == Approx(190));
    trials[1] = ran(1, hpo::TrialState::running, 5, -1);  // without a process, and still RUNNING
    for (hpo::Trial& trial : trials) trial.user_attributes.clear();
    CHECK_FALSE(report_of(trials).failures[1].next_after);
}

TEST_CASE("a trial that is RUNNING long after others ended is named, by the study's own clock") {
    auto trials = one_after_another(10, 60, 0);
    trials.push_back(ran(10, hpo::TrialState::running, 30, -1));
    trials.push_back(ran(11, hpo::TrialState::running, 600, -1));
    const auto report = report_of(trials);
    REQUIRE(report.stale.size() == 1);
    CHECK(report.stale[0].trial->number == 10);
    CHECK(report.stale[0].ended_meanwhile == 9);
    CHECK(report.stale[0].seconds == Approx(579));
    trials.erase(trials.begin() + 5, trials.begin() + 10);  // the study ended sooner: nothing is known
    trials.pop_back();
    CHECK(report_of({trials[0], trials.back()}).stale.empty());
}

TEST_CASE("a prune without a report that took longer than its neighbours was the program's own") {
    auto trials = one_after_another(10, 60, 10);
    trials.push_back(ran(10, hpo::TrialState::pruned, 1000, 90));
    trials.push_back(ran(11, hpo::TrialState::pruned, 1100, 2));
    trials.push_back(ran(12, hpo::TrialState::pruned, 1200, 90, 3));
    const auto report = report_of(trials);
    REQUIRE(report.pruned.size() == 2);
    CHECK(report.pruned[0].trial->number == 10);
    CHECK(report.pruned[0].neighbour_seconds.value() == Approx(60));
    CHECK(report.pruned[1].trial->number == 11);
    CHECK_FALSE(report.pruned[1].neighbour_seconds);
    for (hpo::Trial& trial : trials) trial.intermediate.clear();  // nobody reports in this study
    const auto silent = report_of(trials);
    CHECK(silent.pruned.size() == 3);
    for (const auto& entry : silent.pruned) CHECK_FALSE(entry.neighbour_seconds);
    CHECK(report_of(one_after_another(5, 60, 3)).empty());
}

TEST_CASE("where nobody can know whether memory ran out it is not said that it did not") {
    const auto totals = [](const std::vector<hpo::Trial>& trials) {
        const auto cases = failure_cases(trials);
        return failure_totals(trials, cases, silent_report(cases, trials));
    };
    const auto well = one_after_another(10, 60, 10);
    CHECK_FALSE(totals(well).is_uncertain());

    auto vanished = well;
    vanished.push_back(ran(10, hpo::TrialState::running, 30, -1));
    CHECK(totals(vanished).vanished_running == 1);
    CHECK(totals(vanished).is_uncertain());

    auto pruned = well;
    pruned.push_back(ran(10, hpo::TrialState::pruned, 1000, 2));
    CHECK(totals(pruned).unreported_prunes == 1);
    CHECK(totals(pruned).is_uncertain());

    auto infinite = well;
    infinite[3].values = {HUGE_VAL};
    CHECK(totals(infinite).unexplained_infinite == 1);
    CHECK(totals(infinite).is_uncertain());

    auto killed = well;
    for (const auto kind : {hpo::FailureKind::lost_worker, hpo::FailureKind::crash}) {
        hpo::Attempt attempt;
        attempt.outcome = hpo::OutcomeKind::failed;
        attempt.failure.emplace();
        attempt.failure->kind = kind;
        if (kind == hpo::FailureKind::crash) attempt.failure->signal = 9;
        killed[3].attempts.push_back(attempt);
    }
    CHECK(totals(killed).killed_attempts == 2);
    CHECK(totals(killed).ended_by_sigkill == 1);
    CHECK(totals(killed).lost_with_run == 0);
    CHECK(totals(killed).is_uncertain());
    killed[3].attempts.erase(killed[3].attempts.begin());
    killed[3].attempts[0].failure->signal = 11;  // a mistake in the program
    CHECK_FALSE(totals(killed).is_uncertain());

    auto lost = well;
    lost[3].attempts.resize(1);
    lost[3].attempts[0].outcome = hpo::OutcomeKind::failed;
    hpo::Failure& why = lost[3].attempts[0].failure.emplace();
    why = hpo::classify_exit({.exit_status = {}, .signal = {}, .last_words = ""});
    REQUIRE(why.kind == hpo::FailureKind::lost_worker);
    CHECK(totals(lost).killed_attempts == 1);
    why.message = "its worker closed its socket";  // hpo ended it, and has said why
    why.signal = 9;
    CHECK(totals(lost).killed_attempts == 0);
    CHECK_FALSE(totals(lost).is_uncertain());
    lost[3].attempts[0].outcome = hpo::OutcomeKind::interrupted;  // hpo itself is gone
    CHECK(totals(lost).killed_attempts == 1);
    CHECK(totals(lost).lost_with_run == 1);

    auto told = well;  // another program's process that is known to have ended by SIGKILL
    told.push_back(ran(10, fail, 1000, 10));
    told.back().user_attributes["error_message"] = "\"Process finished with exit code 137\"";
    CHECK(totals(told).killed_attempts == 1);
    CHECK(totals(told).silent_failures == 0);
}

TEST_CASE("Fisher's exact test gives the published figures") {
    // Fisher's tea: 3 of 4 cups, p = 17 / 70; all four, 1 / 70.
    CHECK(fisher_probability({.failed_inside = 3, .inside = 4, .failed_outside = 1, .outside = 4}) == Approx(17.0 / 70));
    CHECK(fisher_probability({.failed_inside = 4, .inside = 4, .failed_outside = 0, .outside = 4}) == Approx(1.0 / 70));
    CHECK(fisher_probability({.failed_inside = 0, .inside = 4, .failed_outside = 4, .outside = 4}) == Approx(1));
    CHECK(fisher_probability({.failed_inside = 500, .inside = 1000, .failed_outside = 500, .outside = 1000}) == Approx(0.518).margin(0.01));
}

namespace {

std::vector<hpo::Trial> study_of(std::uint64_t seed, bool (*fails)(std::int64_t batch, double lr, std::uint64_t roll)) {
    std::mt19937_64 random{seed};
    std::vector<hpo::Trial> trials;
    for (int i = 0; i < 100; ++i) {
        const auto batch = static_cast<std::int64_t>(8 * (1 + random() % 8));
        const double lr = 1e-5 * static_cast<double>(1 + random() % 1000);
        const bool failed = fails(batch, lr, random() % 100);
        hpo::Trial trial = ran(i, failed ? fail : hpo::TrialState::complete, i * 61.0, failed ? 20 : 60);
        trial.params.set("batch_size", hpo::IntDistribution{8, 64, false, 8}, static_cast<double>(batch));
        trial.params.set("lr", hpo::FloatDistribution{1e-5, 1e-1, true, {}}, lr);
        trial.params.set("layers", hpo::IntDistribution{1, 12, false, 1}, static_cast<double>(1 + random() % 12));
        trial.params.set("model", hpo::CategoricalDistribution{{hpo::Value{std::string{"a"}}, hpo::Value{std::string{"b"}}}},
                         static_cast<double>(random() % 2));
        trials.push_back(std::move(trial));
    }
    return trials;
}

}  // namespace

TEST_CASE("a region where trials fail far more often than chance is named, chance and learning rates are not") {
    const auto large = study_of(3, [](std::int64_t batch, double, std::uint64_t roll) { return batch >= 56 ? roll < 80 : roll < 4; });
    const auto report = report_of(large);
    REQUIRE(report.region);
    CHECK(describe(report.region->region) == "batch_size >= 56");
    CHECK(report.region->probability < 1e-4);
    CHECK(report.region->rate_inside() > 0.6);

    std::size_t named = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const auto chance = study_of(seed, [](std::int64_t, double, std::uint64_t roll) { return roll < 20; });
        named += report_of(chance).region.has_value() ? 1 : 0;
    }
    CHECK(named <= 2);  // one in a hundred at most, by construction of the test

    auto gave_up = study_of(3, [](std::int64_t batch, double, std::uint64_t roll) { return batch >= 56 ? roll < 80 : roll < 4; });
    for (hpo::Trial& trial : gave_up) {
        if (trial.state == fail) trial.state = hpo::TrialState::pruned;  // it caught the error, and gave up before a report
    }
    const auto pruned = report_of(gave_up);
    CHECK_FALSE(pruned.region);
    REQUIRE(pruned.pruned_region);
    CHECK(describe(pruned.pruned_region->region) == "batch_size >= 56");

    const auto rates = study_of(5, [](std::int64_t, double lr, std::uint64_t) { return lr > 7e-3; });
    CHECK_FALSE(report_of(rates).region);

    const auto small = study_of(6, [](std::int64_t batch, double, std::uint64_t) { return batch <= 16; });
    CHECK_FALSE(report_of(small).region);  // no out-of-memory looks like that
}

namespace {

hpo::Trial with_value(hpo::Trial trial, double value) {
    trial.values = {value};
    return trial;
}
hpo::Trial with_sizes(hpo::Trial trial, int units, int heads) {
    trial.params = {};
    trial.params.set("units", hpo::IntDistribution{1, 4096}, units);
    trial.params.set("heads", hpo::IntDistribution{1, 64}, heads);
    return trial;
}

constexpr std::array minimise{hpo::Direction::minimize};
constexpr std::array maximise{hpo::Direction::maximize};

}  // namespace

TEST_CASE("the worst value that several trials share is a penalty only where they ended far sooner than the others") {
    auto trials = one_after_another(20, 600, 0);
    for (std::size_t i = 0; i < trials.size(); ++i) trials[i].values = {0.5 + 0.01 * static_cast<double>(i)};
    for (int i = 0; i < 4; ++i) trials.push_back(with_value(ran(20 + i, hpo::TrialState::complete, 20000 + 10 * i, 3), 0));
    const auto report = [&](std::span<const hpo::Direction> directions) {
        return silent_report(failure_cases(trials), trials, {.directions = directions});
    };
    const SilentReport found = report(maximise);
    REQUIRE(found.values.penalised.size() == 4);
    CHECK(found.values.penalised.front()->number == 20);
    CHECK(found.values.usual_seconds == Approx(600));
    CHECK(found.pace.least_seconds == Approx(600));  // they are no yardstick
    CHECK(failure_totals(trials, failure_cases(trials), found).penalised == 4);
    CHECK(failure_totals(trials, failure_cases(trials), found).is_uncertain());
    CHECK(report(minimise).values.empty());  // there it is the best
    CHECK(report({}).values.empty());
    for (std::size_t i = 20; i < 24; ++i) trials[i].completed = *trials[i].started + std::chrono::microseconds{500'000'000};
    CHECK(report(maximise).values.empty());  // a model that learns nothing takes its time
    for (std::size_t i = 20; i < 24; ++i) trials[i].completed = *trials[i].started + std::chrono::microseconds{3'000'000};
    trials.resize(22);
    CHECK(report(maximise).values.empty());  // two
}

TEST_CASE("a value that is not finite counts in each objective, and is no yardstick") {
    auto trials = one_after_another(10, 60, 0);
    for (hpo::Trial& trial : trials) trial.values = {0.5, 0.5};
    trials[4].values = {0.5, HUGE_VAL};
    trials[4].completed = *trials[4].started + std::chrono::microseconds{1};
    trials[7].values = {-HUGE_VAL, 1};
    const auto report = report_of(trials);
    REQUIRE(report.values.infinite.size() == 2);
    CHECK(report.values.infinite[0]->number == 4);
    CHECK(report.pace.trials == 8);
    CHECK(report.pace.least_seconds == Approx(60));
}

TEST_CASE("failures after one and the same time are a limit of time, unless complete trials take it, too") {
    auto trials = one_after_another(20, 1200, 20);
    for (int i = 0; i < 4; ++i) {
        trials.push_back(ran(20 + i, fail, 100'000 + 4000 * i, 3600 + 0.3 * i, 10 + i));
        trials.push_back(ran(24 + i, hpo::TrialState::complete, 200'000 + 4000 * i, 4200, 20));
    }
    auto report = report_of(trials);
    REQUIRE(report.failures.size() == 4);
    for (const auto& entry : report.failures) CHECK(entry.pattern == SilentPattern::time_limit);
    CHECK_FALSE(report.region);
    for (hpo::Trial& trial : trials) {
        if (trial.state == fail) trial.intermediate.clear();  // they may all have failed in the first step
    }
    for (const auto& entry : report_of(trials).failures) CHECK(entry.pattern != SilentPattern::time_limit);
}

TEST_CASE("a long row of trials that fail at once is a broken program, and single ones are not") {
    auto trials = one_after_another(20, 60, 10);
    double now = 2000;
    const auto add = [&](hpo::TrialState state, double seconds) {
        trials.push_back(ran(static_cast<std::int64_t>(trials.size()), state, now, seconds, state == fail ? 0 : 10));
        now += seconds + 1;
    };
    for (int i = 0; i < 12; ++i) add(fail, 2);
    auto report = report_of(trials);
    REQUIRE(report.failures.size() == 12);
    for (const auto& entry : report.failures) {
        CHECK(entry.pattern == SilentPattern::in_a_row);
        CHECK(entry.run == 12);
    }
    CHECK_FALSE(report.region);
    trials.resize(20);
    for (int i = 0; i < 12; ++i) {
        add(fail, 2);
        add(hpo::TrialState::complete, 60);
    }
    for (const auto& entry : report_of(trials).failures) CHECK(entry.pattern == SilentPattern::at_once);
}

TEST_CASE("longer than any complete trial is said as that") {
    auto trials = one_after_another(10, 60, 0);
    trials.push_back(ran(10, fail, 1000, 360));
    CHECK(report_of(trials).failures.at(0).pattern == SilentPattern::longer);
}

TEST_CASE("a trial after which nothing was stored is gone once the store is silent for long") {
    auto trials = one_after_another(40, 60, 0);
    trials.push_back(ran(40, hpo::TrialState::running, 40 * 61, -1));
    const auto after = [&](std::optional<double> seconds) {
        return silent_report(failure_cases(trials), trials, {.silent_seconds = seconds});
    };
    CHECK(after({}).stale.empty());
    CHECK(after(100).stale.empty());  // it may still run
    const SilentReport report = after(200'000);
    REQUIRE(report.stale.size() == 1);
    CHECK(report.stale[0].ended_meanwhile == 0);
    CHECK(report.stale[0].seconds == Approx(200'000));
    CHECK(report.stale[0].idle_seconds.value() == Approx(200'000));
    CHECK(failure_totals(trials, failure_cases(trials), report).is_uncertain());
    // Somebody began the program again two days later: the time between is part of the cost.
    for (int i = 0; i < 3; ++i) trials.push_back(ran(41 + i, hpo::TrialState::complete, 40 * 61 + 172'800 + 61 * i, 60));
    REQUIRE(after(10).stale.size() == 1);
    CHECK(after(10).stale[0].idle_seconds.value() == Approx(172'800));
}

TEST_CASE("a parameter that does not divide another is an error of shapes, not of memory") {
    std::vector<hpo::Trial> trials;
    for (int i = 0; i < 30; ++i) {
        const int heads = 1 + i % 5;
        const int units = 64 * (1 + i % 4);
        const bool divides = units % heads == 0;
        trials.push_back(with_sizes(ran(i, divides ? hpo::TrialState::complete : fail, 100 * i, divides ? 60 : 3), units, heads));
    }
    const SilentReport report = report_of(trials);
    REQUIRE(report.indivisible);
    CHECK(report.indivisible->whole == "units");
    CHECK(report.indivisible->divisor == "heads");
    CHECK_FALSE(report.region);
}

TEST_CASE("a region looks like memory only where it comes with sizes") {
    const auto bounded = [](const std::string& name, Condition::Relation relation) {
        return looks_like_memory({{.relation = relation, .param = name, .bound = 1, .choices = {}}});
    };
    using enum Condition::Relation;
    CHECK(bounded("train.batch_size", at_least));
    CHECK(bounded("model.hidden", at_least));
    CHECK(bounded("patch_size", at_most));
    CHECK(bounded("model.name", one_of));
    CHECK_FALSE(bounded("batch_size", at_most));
    CHECK_FALSE(bounded("alpha", at_least));
    CHECK_FALSE(bounded("optimizer", one_of));
}

TEST_CASE("a log that only says NaN removes no suspicion") {
    std::vector<hpo::Trial> trials;
    for (int i = 0; i < 40; ++i) {
        const int units = 64 * (1 + i % 8);
        trials.push_back(with_sizes(ran(i, units >= 384 ? fail : hpo::TrialState::complete, 100 * i, units >= 384 ? 20 : 60), units, 2));
    }
    const SilentReport before = report_of(trials);
    REQUIRE(before.region);
    CHECK(looks_like_memory(before.region->region));
    ToldFailures log;
    for (const hpo::Trial& trial : trials) {
        if (trial.state != fail) continue;
        hpo::Failure failure;
        failure.kind = hpo::FailureKind::non_finite;
        failure.message = "The value nan is not acceptable";
        log.emplace(trial.number, ToldFailure{.failure = failure, .place = "run.log, line 1"});
    }
    const SilentReport after = silent_report(failure_cases(trials, log), trials);
    REQUIRE(after.region);
    CHECK(after.region->counts.failed_inside == before.region->counts.failed_inside);
}

TEST_CASE("a trial that is RUNNING at the end is uncertain, however short the store's silence is") {
    auto trials = one_after_another(40, 60, 0);
    trials.push_back(ran(40, hpo::TrialState::running, 40 * 61, -1));
    for (const std::optional<double> seconds : {std::optional<double>{}, std::optional{3.0}}) {
        const SilentReport report = silent_report(failure_cases(trials), trials, {.silent_seconds = seconds});
        CHECK(report.stale.empty());
        REQUIRE(report.open.size() == 1);
        CHECK(report.open[0]->number == 40);
        const auto totals = failure_totals(trials, failure_cases(trials), report);
        CHECK(totals.is_uncertain());
        CHECK_FALSE(totals.idle_seconds);  // it may still run
    }
    trials.pop_back();
    CHECK_FALSE(failure_totals(trials, failure_cases(trials), report_of(trials)).is_uncertain());
}

TEST_CASE("after each of several deaths the time in which nothing ran is told") {
    std::vector<hpo::Trial> trials;
    double now = 0;
    const std::map<int, double> hours{{11, 7}, {12, 9}, {25, 20}};
    for (int i = 0; i < 40; ++i) {
        const auto death = hours.find(i);
        trials.push_back(death == hours.end() ? ran(i, hpo::TrialState::complete, now, 60) : ran(i, hpo::TrialState::running, now, -1));
        now += death == hours.end() ? 63 : 3600 * death->second;
    }
    const SilentReport report = report_of(trials);
    REQUIRE(report.stale.size() == 3);
    for (const auto& entry : report.stale)
        CHECK(entry.idle_seconds.value() == Approx(3600 * hours.at(static_cast<int>(entry.trial->number))));
    CHECK(failure_totals(trials, failure_cases(trials), report).idle_seconds.value() == Approx(36 * 3600));
}

TEST_CASE("a worst value that comes with a learning rate is no memory's") {
    const std::vector<hpo::Direction> directions{hpo::Direction::maximize};
    const auto report = [&](bool by_rate) {
        std::vector<hpo::Trial> trials;
        for (int i = 0; i < 40; ++i) {
            const bool stopped = i % 4 == 0;
            trials.push_back(ran(i, hpo::TrialState::complete, 500 * i, stopped ? 40 : 400, stopped ? 2 : 20));
            trials.back().values = {stopped ? 0.1 : 0.5 + 0.01 * i};
            trials.back().params.set("lr", hpo::FloatDistribution{1e-5, 1e-1, true},
                                     stopped == by_rate ? 0.01 + 0.001 * i : 0.0001 * (i + 1));
            if (!by_rate && i % 8 < 4) trials.back().params.set("lr", hpo::FloatDistribution{1e-5, 1e-1, true}, 0.002);
        }
        return silent_report(failure_cases(trials), trials, {.directions = directions}).penalised_by;
    };
    REQUIRE(report(true));
    CHECK(report(true)->param == "lr");
    CHECK(report(true)->above);
    CHECK(report(true)->bound == Approx(0.01));
    CHECK_FALSE(report(false));
}
