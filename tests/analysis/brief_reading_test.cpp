// SPDX-License-Identifier: MIT
#include "hpo/analysis/oom.hpp"
#include "hpo/analysis/summary.hpp"
#include "hpo/store/snapshot.hpp"
#include "hpo/store/sqlite.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

using namespace hpo;
using hpo::tests::mib;

namespace {

/// A study with every kind of trial, large enough that its parameters are read as they lie in the file.
void write_study(const std::string& path, std::int64_t trials) {
    store::Sqlite store{path};
    const Study study = store.open_study("s", std::vector{Direction::minimize}, Store::Open::create);
    for (std::int64_t i = 0; i < trials; ++i) {
        Trial trial = store.begin_trial(study.id, std::nullopt);
        const std::int64_t batch = 8 + 8 * (i % 16);
        trial.params.set("batch", IntDistribution{8, 128, false, 8}, static_cast<double>(batch));
        trial.params.set("lr", FloatDistribution{0, 1, false, std::nullopt}, 0.01 * static_cast<double>(i % 7));
        store.set_params(trial);
        store.report(trial, {0, 0.5});
        const bool fails = batch > 96;
        for (int index = 0; index < (fails ? 2 : 1); ++index) {
            Attempt attempt;
            attempt.index = index;
            attempt.device_name = i % 2 == 0 ? "cuda:0" : "cuda:1";
            attempt.plan.effective_batch = batch;
            attempt.plan.micro_batch = batch >> index;
            attempt.estimate = Estimate{.need = batch * 9 * mib, .comfort = {}, .source = "dry_run", .cap_bytes = {}};
            MemoryMark start{.name = "trial_start", .seconds = 0, .step = std::nullopt, .reading = {}};
            start.reading.allocated = 4 * mib;
            start.reading.capacity = 1000 * mib;
            attempt.memory.push_back(start);
            store.begin_attempt(trial, attempt);
            attempt.seconds = 2;
            attempt.outcome = fails && index == 0 ? OutcomeKind::failed : OutcomeKind::complete;
            attempt.peak_allocated = attempt.peak_reserved = std::min<std::int64_t>(batch * 10, 990) * mib;
            if (fails && index == 0) {
                attempt.failure = Failure{.kind = FailureKind::out_of_memory, .message = "out of memory", .cause = OomCause::capacity};
                attempt.failure->memory = start.reading;
            }
            trial.attempts.push_back(attempt);
            store.end_attempt(trial, attempt);
        }
        trial.state = i % 11 == 10 ? TrialState::fail : i % 5 == 4 ? TrialState::pruned : TrialState::complete;
        if (trial.state == TrialState::complete) trial.values = {1.0 / static_cast<double>(i + 1)};
        if (trial.state == TrialState::fail) trial.user_attributes[std::string{lost_attribute}] = "true";
        trial.user_attributes["note"] = "\"x\"";
        trial.constraints["memory"] = i % 13 == 12 ? 0.5 : -0.5;
        store.finish(trial);
    }
}

}  // namespace

TEST_CASE("a study that is read in brief is summed up and explained as one that is read whole") {
    const tests::TemporaryDirectory folder;
    const std::string path = (folder.path() / "hpo.db").string();
    write_study(path, 1100);
    store::Snapshot snapshot{path};
    const Study study = snapshot.study("s");
    const std::vector<Trial> whole = snapshot.trials(study);
    std::vector<Trial> brief = snapshot.trials(study, {.params = false, .reports = false, .details = false});
    REQUIRE(whole.size() == brief.size());
    CHECK(brief[0].params.empty());
    CHECK(brief[0].intermediate.empty());
    CHECK(brief[0].user_attributes.empty());
    CHECK(brief[10].user_attributes.contains(lost_attribute));
    snapshot.add_params(study, brief);
    for (std::size_t i = 0; i < whole.size(); ++i) {
        CAPTURE(i);
        REQUIRE(whole[i].params == brief[i].params);
        REQUIRE(whole[i].feasible() == brief[i].feasible());
        REQUIRE(whole[i].attempts.size() == brief[i].attempts.size());
        REQUIRE(whole[i].attempts.back().plan == brief[i].attempts.back().plan);
        REQUIRE(whole[i].attempts.back().device_name == brief[i].attempts.back().device_name);
        REQUIRE(analysis::peak_of(whole[i]) == analysis::peak_of(brief[i]));
    }
    const auto a = analysis::summarise(study, whole, {});
    const auto b = analysis::summarise(study, brief, {});
    CHECK(a.totals.infeasible > 0);
    CHECK(a.totals.infeasible == b.totals.infeasible);
    CHECK(a.totals.interrupted == b.totals.interrupted);
    CHECK(a.totals.attempts == b.totals.attempts);
    CHECK(a.totals.capacity_bytes == 1000 * mib);
    CHECK(b.totals.capacity_bytes == 1000 * mib);
    CHECK(a.totals.highest_peak->bytes == b.totals.highest_peak->bytes);
    CHECK(a.best.front()->number == b.best.front()->number);
    const auto full = analysis::oom_report(whole, {});
    const auto quick = analysis::oom_report(brief, {});
    CHECK(full.oom_trials > 0);
    CHECK(full.oom_trials == quick.oom_trials);
    CHECK(full.recovered_trials == quick.recovered_trials);
    CHECK(full.rule_lua == quick.rule_lua);
    CHECK(full.prediction.attempts == quick.prediction.attempts);
    CHECK(full.prediction.median_relative_error == quick.prediction.median_relative_error);
    REQUIRE(full.cases.size() == quick.cases.size());
    for (std::size_t i = 0; i < full.cases.size(); ++i) {
        CHECK(full.cases[i].failed.failure.evidence == quick.cases[i].failed.failure.evidence);
        CHECK((full.cases[i].change ? full.cases[i].change->text() : "") == (quick.cases[i].change ? quick.cases[i].change->text() : ""));
    }
    snapshot.add_params(study, {&brief[7], 1});
    CHECK(whole[7].params == brief[7].params);
}
