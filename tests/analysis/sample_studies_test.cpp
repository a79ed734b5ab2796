// SPDX-License-Identifier: MIT
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "analysis/memory_need/memory_model.hpp"
#include "hpo/analysis/best.hpp"
#include "hpo/analysis/failure_cases/failure_name.hpp"
#include "hpo/analysis/oom.hpp"
#include "hpo/analysis/summary.hpp"
#include "hpo/failure/cause.hpp"
#include "hpo/store/snapshot.hpp"
#include "support/catch.hpp"

using nlohmann::json;

namespace {

const std::string data = std::string{HPO_SOURCE_DIR} + "/tests/data/optuna/";

json truth() { return json::parse(std::ifstream{std::string{HPO_SOURCE_DIR} + "/tests/analysis/oom_truth.json"}); }

/// Trial number to what the analysis says of it: a cause, or the name of another failure.
std::map<std::int64_t, std::string> verdicts(const std::vector<hpo::Trial>& trials) {
    auto cases = hpo::analysis::failure_cases(trials);
    hpo::analysis::explain_by_history(cases, trials);
    std::map<std::int64_t, std::string> found;
    for (const auto& entry : cases) {
        found[entry.trial->number] =
            entry.is_oom() ? std::string{to_text(entry.failure.cause.value())} : std::string{hpo::analysis::failure_name(entry)};
    }
    return found;
}

/// The truth's words for what has a name of its own here.
bool agrees(const std::string& want, const std::string& got) {
    if (want == "error") return got == "trainer_error" || got == "bad_batch";
    if (want == "killed") return got == "no_message" || got == "vanished";
    return want == got;
}

}  // namespace

TEST_CASE("causes in other programs' studies are found from their attributes and their history") {
    std::size_t right = 0, visible = 0, oom_right = 0, oom_visible = 0;
    const json all = truth();
    for (const auto& [file, studies] : all.items()) {
        hpo::store::Snapshot snapshot{data + file};
        for (const auto& [name, expected] : studies.items()) {
            const auto trials = snapshot.trials(snapshot.study(name));
            auto found = verdicts(trials);
            for (const auto& entry : expected["cases"]) {
                const std::int64_t number = entry["number"];
                const std::string want = entry["cause"];
                const std::string got = found.contains(number) ? found[number] : "nothing";
                found.erase(number);
                if (entry["evidence"] == "none") {  // nothing in the file tells: neither may we
                    CHECK((got == "no_message" || got == "vanished"));
                    continue;
                }
                bool good = agrees(want, got);
                for (const auto& other : entry.value("accept", json::array())) good = good || other == got;
                INFO(file << " " << name << " trial " << number << ": " << want << ", got " << got);
                if (!good) UNSCOPED_INFO("wrong");
                ++visible;
                right += good ? 1 : 0;
                const bool memory =
                    want != "device_assert" && want != "victim" && want != "prevented" && want != "error" && want != "killed";
                oom_visible += memory ? 1 : 0;
                oom_right += memory && good ? 1 : 0;
            }
            CHECK(found.empty());  // no trial is called failed that was well
        }
    }
    CHECK(oom_visible == 73);
    CHECK(oom_right >= 72);  // one trial whose message was lost stays unknown
    CHECK(visible == 95);
    CHECK(right >= 94);
}

TEST_CASE("out-of-memory is counted where it left a trace, and nowhere else") {
    const json all = truth();
    for (const auto& [file, studies] : all.items()) {
        hpo::store::Snapshot snapshot{data + file};
        for (const auto& [name, expected] : studies.items()) {
            CAPTURE(file, name);
            const auto trials = snapshot.trials(snapshot.study(name));
            const auto report = hpo::analysis::oom_report(trials, {});
            CHECK(report.trials == expected["trials"]);
            CHECK(report.oom_trials == expected["oom_visible"]);
            CHECK(report.oom_attempts == expected["oom_visible"]);
            CHECK(report.recovered_trials == 0);
            CHECK(report.wasted_seconds > 0);
            CHECK(report.cases.size() == report.oom_attempts);
            for (const auto& entry : report.cases) {
                CHECK_FALSE(entry.failed.failure.evidence.empty());
                const auto cause = entry.failed.failure.cause.value();
                if (!hpo::follows_from_configuration(cause) || cause == hpo::OomCause::limit) CHECK(entry.change);
            }
        }
        for (const char* quiet : {"features", "features-mo", "legacy", "empty"}) {
            const auto trials = snapshot.trials(snapshot.study(quiet));
            const auto report = hpo::analysis::oom_report(trials, {});
            CHECK(report.oom_trials == 0);
            CHECK(report.rule_lua.empty());
        }
    }
}

TEST_CASE("the parameters that memory depends on are told from the others") {
    for (const char* file : {"optuna-5.0.0.db", "optuna-3.6.2.db"}) {
        hpo::store::Snapshot snapshot{data + file};
        const auto trials = snapshot.trials(snapshot.study("oom"));
        auto cases = hpo::analysis::failure_cases(trials);
        hpo::analysis::explain_by_history(cases, trials);
        const hpo::analysis::MemoryModel model{hpo::analysis::memory_examples(trials, cases)};
        std::map<std::string, int> axes;
        for (const auto& axis : model.axes()) axes[axis.param] = axis.direction;
        CHECK(axes ==
              std::map<std::string, int>{{"model.name", 0}, {"tok.max_length", 1}, {"train.batch_size", 1}, {"train.grad_ckpt", 0}});
    }
}

TEST_CASE("the best trial is feasible and told apart from the best value") {
    const json facts = json::parse(std::ifstream{data + "truth.json"});
    for (const auto& [file, entry] : facts.items()) {
        const json& studies = entry.contains("studies") ? entry["studies"] : entry;
        hpo::store::Snapshot snapshot{data + file};
        for (const auto& [name, expected] : studies.items()) {
            if (!expected.contains("best_feasible")) continue;
            CAPTURE(file, name);
            const hpo::Study study = snapshot.study(name);
            const auto trials = snapshot.trials(study);
            const auto best = hpo::analysis::best_trials(trials, study.directions);
            REQUIRE(best.size() == 1);
            CHECK(best.front()->number == expected["best_feasible"]["number"]);
        }
    }
}

TEST_CASE("a Pareto front leaves infeasible and dominated trials out") {
    hpo::store::Snapshot snapshot{data + "optuna-5.0.0.db"};
    const hpo::Study study = snapshot.study("features-mo");
    const auto trials = snapshot.trials(study);
    std::vector<std::int64_t> numbers;
    for (const hpo::Trial* trial : hpo::analysis::best_trials(trials, study.directions)) numbers.push_back(trial->number);
    CHECK(numbers == std::vector<std::int64_t>{0, 3, 4, 5, 7, 10, 11, 13, 14, 16, 20, 22, 23, 24, 26, 28, 29, 30, 31, 32, 34, 35, 37, 38});
}

TEST_CASE("a summary counts what the study holds") {
    hpo::store::Snapshot snapshot{data + "optuna-5.0.0.db"};
    const hpo::Study study = snapshot.study("oom");
    const auto trials = snapshot.trials(study);
    const auto summary = hpo::analysis::summarise(study, trials, {});
    const hpo::analysis::StudyCounts& counts = summary.totals;
    CHECK(counts.trials == 94);
    CHECK(std::array{counts.running, counts.complete, counts.pruned, counts.failed, counts.waiting} ==
          std::array<std::size_t, 5>{2, 42, 44, 5, 1});
    CHECK(counts.ended() == 91);
    CHECK(counts.oom_share() == Approx(28.0 / 91));
    CHECK(summary.trial_seconds == Approx(168453));
}

TEST_CASE("a trial that was interrupted before it was launched has not failed, one that failed without a word has") {
    std::vector<hpo::Trial> trials(2);
    for (hpo::Trial& trial : trials) trial.state = hpo::TrialState::fail;
    trials[1].number = 1;
    trials[0].user_attributes[std::string{hpo::lost_attribute}] = "true";
    const auto cases = hpo::analysis::failure_cases(trials);
    REQUIRE(cases.size() == 1);
    CHECK(cases[0].failure.kind == hpo::FailureKind::lost_worker);
    trials.push_back({.number = 2, .state = hpo::TrialState::complete});  // somebody else's use of the name
    trials.back().user_attributes[std::string{hpo::lost_attribute}] = "true";
    const auto summary = hpo::analysis::summarise({.directions = {hpo::Direction::minimize}}, trials, {});
    CHECK(summary.totals.interrupted == 1);
    CHECK(summary.totals.failed == 1);
}
