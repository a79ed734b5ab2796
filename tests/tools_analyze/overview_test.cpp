// SPDX-License-Identifier: MIT
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analyze.hpp"
#include "hpo/failure/classify.hpp"
#include "hpo/store/sqlite.hpp"
#include "support/catch.hpp"

using namespace hpo::test;
using Catch::Contains;
using nlohmann::json;

namespace {

/// Adds a study with one trial; `message` is that of its failure, empty for a complete trial.
void add_study(const std::string& path, const std::string& name, const std::string& message) {
    hpo::store::Sqlite store{path};
    const std::vector<hpo::Direction> directions{hpo::Direction::minimize};
    const hpo::Study study = store.open_study(name, directions, hpo::Store::Open::create);
    hpo::Trial trial = store.begin_trial(study.id, std::nullopt);
    trial.attempts.emplace_back();
    store.begin_attempt(trial, trial.attempts.back());
    hpo::Attempt& attempt = trial.attempts.back();
    attempt.seconds = 2.0;
    attempt.outcome = message.empty() ? hpo::OutcomeKind::complete : hpo::OutcomeKind::failed;
    if (!message.empty()) attempt.failure = hpo::classify_text({.type = {}, .message = message});
    store.end_attempt(trial, attempt);
    trial.state = message.empty() ? hpo::TrialState::complete : hpo::TrialState::fail;
    if (message.empty()) trial.values = {1.0};
    store.finish(trial);
}

}  // namespace

TEST_CASE("without a study, oom and failures tell of all studies and name the one to look at first") {
    const Workshop workshop;
    const std::string path = workshop.file("hpo.db");
    const std::string store = " --store '" + path + "'";
    add_study(path, "fine", "");
    add_study(path, "calm", "");
    CHECK_THAT(analyze("oom" + store).out,
               Catch::StartsWith("No out-of-memory in the 2 studies of ") && Contains(": none in 2 trials\n") && !Contains("Look first"));
    CHECK_THAT(analyze("failures" + store).out, Catch::StartsWith("No failure in the 2 studies of ") && !Contains("Look first"));
    CHECK(json::parse(analyze("oom --json" + store).out)["look_first"].is_null());

    add_study(path, "wrong", "KeyError: a");
    add_study(path, "it's large", "CUDA out of memory. Tried to allocate 2.00 GiB");
    const std::string text = analyze("oom" + store).out;
    CHECK_THAT(text, Catch::StartsWith("Out of memory in the 4 studies of ") && Contains(": 1 attempt, in 1 of them\n") &&
                         Contains("  Look first at it's large, which has most:\n    hpo-analyze oom --store " + path +
                                  " --study 'it'\\''s large'\n"));
    CHECK(text.find("  it's large") < text.find("  fine"));
    CHECK_THAT(analyze("failures" + store).out, Contains(": 2, in 2 of them\n") && Contains("  Look first at "));
    const json report = json::parse(analyze("failures --json" + store).out);
    CHECK(report["studies"].size() == 4);
    CHECK(report["studies"][0]["failures"] == 1);
    CHECK(report["studies"][3]["lost_seconds"] == 0.0);
    CHECK(json::parse(analyze("oom --json" + store).out)["look_first"] == "it's large");
    CHECK(json::parse(analyze("oom --json --study wrong" + store).out)["study"] == "wrong");
}

TEST_CASE("an overview says where more trials may be of the kind, and a file of one study has none") {
    const Workshop workshop;
    const std::string path = workshop.file("hpo.db");
    add_study(path, "one", "");
    CHECK_THAT(analyze("oom --store '" + path + "'").out, Catch::StartsWith("No out-of-memory in study one: none in 1 trial"));
    CHECK(json::parse(analyze("failures --json --store '" + path + "'").out)["study"] == "one");
    const std::string copy = workshop.file("copy.db");
    std::filesystem::copy_file(source + "/" + data + "optuna-5.0.0.db", copy);
    SQLite::Database{copy, SQLite::OPEN_READWRITE}.exec("DELETE FROM trials WHERE study_id >= 5");
    CHECK_THAT(analyze("oom --store '" + copy + "'").out, Catch::StartsWith("No out-of-memory is recorded in the 6 studies of ") &&
                                                              Contains("More may have run out of memory in features, features-mo: ") &&
                                                              Contains("Look first at features:\n    hpo-analyze"));
}
