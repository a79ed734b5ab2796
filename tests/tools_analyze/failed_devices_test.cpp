// SPDX-License-Identifier: MIT
#include <cstdint>
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

constexpr std::int64_t gib = std::int64_t{1} << 30U;

/// Where one attempt ran out of memory.
struct Where {
    std::string device;
    std::string name;
    std::int64_t capacity = 0;
};

/// Writes a study of our own with one such attempt for each trial, and returns the answer with each paragraph on one line.
std::string answer(const Workshop& workshop, const std::vector<Where>& all, const std::string& arguments = "") {
    static int count = 0;
    const std::string path = workshop.file("hpo" + std::to_string(++count) + ".db");
    {
        hpo::store::Sqlite store{path};
        const std::vector<hpo::Direction> directions{hpo::Direction::minimize};
        const hpo::Study study = store.open_study("ours", directions, hpo::Store::Open::create);
        for (const Where& where : all) {
            hpo::Trial trial = store.begin_trial(study.id, std::nullopt);
            trial.attempts.emplace_back();
            hpo::Attempt& attempt = trial.attempts.back();
            attempt.plan.device = where.device;
            attempt.device_name = where.name;
            store.begin_attempt(trial, attempt);
            attempt.outcome = hpo::OutcomeKind::failed;
            attempt.failure = hpo::classify_text({.type = "c10::OutOfMemoryError", .message = "CUDA out of memory."});
            if (where.capacity > 0) attempt.failure->memory.capacity = where.capacity;
            store.end_attempt(trial, attempt);
            trial.state = hpo::TrialState::fail;
            store.finish(trial);
        }
    }
    std::string text = analyze("oom " + arguments + " --store '" + path + "'").out;
    for (auto at = text.find("\n  "); arguments.empty() && at != std::string::npos; at = text.find("\n  ", at)) text.replace(at, 3, " ");
    return text;
}

}  // namespace

TEST_CASE("memory that ran out on several devices is counted for each, and one device is named once") {
    const Workshop workshop;
    CHECK_THAT(answer(workshop, {{"cuda:0", "a card", 8 * gib}, {"cuda:1", "large card", 24 * gib}, {"cuda:1", "large card", 24 * gib}}),
               Contains("; on 2 devices: 2 on cuda:1 (large card, 24.00 GiB), 1 on cuda:0 (a card, 8.00 GiB)"));
    CHECK_THAT(answer(workshop, {{"cuda", "a card", 8 * gib}, {"cuda:0", "a card", 8 * gib}}), Contains("; device of 8.00 GiB\n"));
    // A limit that was raised between two runs makes no second device.
    CHECK_THAT(answer(workshop, {{"cpu", "", gib}, {"cpu", "", 2 * gib}}), Contains("; device of 1.00 GiB to 2.00 GiB\n"));
    // Without a name the size tells two cards apart.
    CHECK_THAT(answer(workshop, {{"cuda:0", "", 8 * gib}, {"cuda:0", "", 24 * gib}, {"cuda:0", "", 0}}),
               Contains("; on 2 devices: 1 on cuda:0 (8.00 GiB), 1 on cuda:0 (24.00 GiB), 1 on a device that is not known\n"));
    const json report = json::parse(answer(workshop, {{"cuda:0", "a card", 8 * gib}, {"cuda:1", "", 0}}, "--json"));
    CHECK(report["devices"] == json::parse(R"([{"device": "cuda:0", "name": "a card", "capacity_bytes": 8589934592, "oom_attempts": 1},
                                               {"device": "cuda:1", "name": null, "capacity_bytes": null, "oom_attempts": 1}])"));
}

TEST_CASE("in a study of Optuna the messages tell the devices") {
    const std::string sample = " --store " + data + "optuna-5.0.0.db";
    CHECK_THAT(analyze("oom --study oom" + sample).out, Contains("2 devices: 17 on GPU 0 (23.69 GiB), 7 on GPU 1 (23.56 GiB)"));
    CHECK_THAT(analyze("oom --study oom-returns-inf" + sample).out, Contains("device of 31.50 GiB\n"));
}

TEST_CASE("the highest peak is a share of the device that the trial ran on") {
    const Workshop workshop;
    const std::string path = workshop.file("hpo.db");
    for (const std::string name : {"mixed", "again"}) {
        hpo::store::Sqlite store{path};
        const std::vector<hpo::Direction> directions{hpo::Direction::minimize};
        const hpo::Study study = store.open_study(name, directions, hpo::Store::Open::create);
        for (const std::int64_t capacity : {8, 8, 24}) {
            hpo::Trial trial = store.begin_trial(study.id, std::nullopt);
            trial.attempts.emplace_back();
            store.begin_attempt(trial, trial.attempts.back());
            hpo::MemoryReading reading;
            reading.capacity = capacity * gib;
            store.memory_mark(trial, 0, {"trial_start", 0, std::nullopt, reading});
            trial.attempts.back().outcome = hpo::OutcomeKind::complete;
            trial.attempts.back().peak_reserved = capacity * gib * 3 / 4;
            store.end_attempt(trial, trial.attempts.back());
            trial.state = hpo::TrialState::complete;
            trial.values = {1.0};
            store.finish(trial);
        }
    }
    const std::string store = " --store '" + path + "'";
    CHECK_THAT(analyze("summary --study mixed" + store).out, Contains("highest peak 18.00 GiB in trial 2, 75 % of the device"));
    CHECK_THAT(analyze("oom --study mixed" + store).out, Contains("75 % of the device"));
    CHECK_THAT(analyze("compare" + store).out, Contains("18.00 GiB (75 %)"));
}
