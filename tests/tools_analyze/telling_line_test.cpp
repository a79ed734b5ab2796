// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "analyze.hpp"
#include "hpo/failure/classify.hpp"
#include "hpo/failure/python_error.hpp"
#include "hpo/store/sqlite.hpp"
#include "support/catch.hpp"

using namespace hpo::test;
using Catch::Contains;
using nlohmann::json;

namespace {

std::string traceback(const std::string& error) {
    return "Traceback (most recent call last):\n  File \"train.py\", line 3, in step\n    y = model(x)\n" + error;
}

/// A study of our own with one failed attempt for each failure.
void write_failures(const std::string& path, const std::vector<hpo::Failure>& failures) {
    hpo::store::Sqlite store{path};
    const std::vector<hpo::Direction> directions{hpo::Direction::minimize};
    const hpo::Study study = store.open_study("ours", directions, hpo::Store::Open::create);
    for (const hpo::Failure& failure : failures) {
        hpo::Trial trial = store.begin_trial(study.id, std::nullopt);
        trial.attempts.emplace_back();
        store.begin_attempt(trial, trial.attempts.back());
        trial.attempts.back().outcome = hpo::OutcomeKind::failed;
        trial.attempts.back().failure = failure;
        store.end_attempt(trial, trial.attempts.back());
        trial.state = hpo::TrialState::fail;
        store.finish(trial);
    }
}

}  // namespace

TEST_CASE("failures and trial show the line that tells, not a first line that tells nothing") {
    const Workshop workshop;
    const std::string path = workshop.file("hpo.db");
    const auto in_replica = [](const std::string& error) {
        return hpo::classify_exception(
            {.type = "RuntimeError", .message = "Caught RuntimeError in replica 0 on device 0.\nOriginal " + traceback(error)});
    };
    write_failures(path,
                   {in_replica("RuntimeError: CUDA error: device-side assert triggered"),
                    in_replica("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"), in_replica("KeyError: 'input_ids'"),
                    in_replica("ValueError: 7 labels for 8 examples"), in_replica("ValueError: 5 labels for 9 examples"),
                    hpo::classify_exit(
                        {.exit_status = 1, .signal = {}, .last_words = "epoch 1\n" + traceback("ZeroDivisionError: division by zero\n")})});
    const std::string store = " --store '" + path + "'";
    const std::string text = analyze("failures" + store).out;
    INFO(text);
    const json list = json::parse(analyze("failures --json" + store).out)["failures"];
    std::set<std::string> lines;
    for (const json& entry : list) lines.insert(entry["line"].get<std::string>());
    CHECK(lines == std::set<std::string>{"RuntimeError: CUDA error: device-side assert triggered",
                                         "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB", "KeyError: 'input_ids'",
                                         "ValueError: 7 labels for 8 examples",
                                         "the process ended with status 1: ZeroDivisionError: division by zero"});
    CHECK(list[0]["count"] == 2);  // they differ in figures alone
    CHECK_THAT(list[0]["message"].get<std::string>(), Catch::StartsWith("Caught RuntimeError in replica 0"));
    CHECK_THAT(text, !Contains("Caught RuntimeError"));
    CHECK_THAT(analyze("trial 2" + store).out, Contains("    message    KeyError: 'input_ids'\n"));
    CHECK_THAT(analyze("trial 5" + store).out, Contains("message    the process ended with status 1: ZeroDivisionError: division"));
}

TEST_CASE("trial prints the rest of a message of several lines that has no traceback") {
    const Workshop workshop;
    const std::string path = workshop.file("hpo.db");
    hpo::Failure failure;
    failure.kind = hpo::FailureKind::trainer_error;
    failure.message = "the trainer gave up\nlayer 3 has no weights\nlayer 4 has none";
    hpo::Failure one_line = failure;
    one_line.message = "the trainer gave up";
    write_failures(path, {failure, one_line});
    const std::string store = " --store '" + path + "'";
    CHECK_THAT(analyze("trial 0" + store).out, Contains("\n               layer 3 has no weights\n               layer 4 has none\n"));
    const std::string single = analyze("trial 1" + store).out;
    CHECK(single.find("the trainer gave up") == single.rfind("the trainer gave up"));
}
