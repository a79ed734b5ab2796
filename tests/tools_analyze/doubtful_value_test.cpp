// SPDX-License-Identifier: MIT
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analyze.hpp"
#include "hpo/store/sqlite.hpp"
#include "support/catch.hpp"

using namespace hpo::test;
using Catch::Contains;
using nlohmann::json;

namespace {

/// A complete trial of another program.
struct Returned {
    std::vector<double> values;
    std::string message{};  ///< of the error that the program caught
};

void write_study(const std::string& path, const std::string& name, const std::vector<Returned>& trials, std::size_t objectives = 1) {
    hpo::store::Sqlite store{path};
    const std::vector<hpo::Direction> directions(objectives, hpo::Direction::minimize);
    const hpo::Study study = store.open_study(name, directions, hpo::Store::Open::create);
    for (const Returned& each : trials) {
        hpo::Trial trial = store.begin_trial(study.id, std::nullopt);
        trial.state = hpo::TrialState::complete;
        trial.values = each.values;
        if (!each.message.empty()) trial.user_attributes["exception"] = hpo::json_quote(each.message);
        store.finish(trial);
    }
}

const std::string ran_out = "CUDA out of memory. Tried to allocate 20.00 MiB";

}  // namespace

TEST_CASE("a best value that is a penalty by the trial's own message is said beside it, with the best of the others") {
    const Workshop workshop;
    const std::string path = workshop.file("penalty.db");
    write_study(path, "one", {{{0.5}}, {{0.0}, ran_out}, {{0.4}}, {{0.0}, ran_out}, {{0.6}}});
    write_study(path, "front", {{{0.5, 3}}, {{0.0, 0.0}, ran_out}, {{0.4, 4}}}, 2);
    write_study(path, "fine", {{{0.5}}, {{0.7}, ran_out}});
    const std::string store = " --store '" + path + "' --study ";
    CHECK_THAT(
        analyze("best" + store + "one").out,
        Catch::StartsWith("Trial 1 of study one: 0 (its own message says that it ran out of memory") && Contains("best\nis trial 2: 0.4"));
    CHECK_THAT(analyze("best --top 3" + store + "one").out, Contains("ran out of memory") && Contains("yes") && Contains("trial 2: 0.4"));
    CHECK_THAT(analyze("best" + store + "front").out,
               Contains("alone on the Pareto front (its own message") && Contains("front is trials 0, 2"));
    CHECK_THAT(analyze("best" + store + "fine").out, !Contains("message"));
    CHECK_THAT(analyze("summary" + store + "one").out,
               Contains("its own message says that it ran out of memory") && Contains("it is trial 2: 0.4"));
    CHECK_THAT(analyze("compare one fine --store '" + path + "'").out, Contains("best is 0.4 (trial 2)"));
    const json best = json::parse(analyze("best --json" + store + "one").out);
    CHECK(best["best"][0]["ran_out_of_memory"] == true);
    CHECK(best["best_without_out_of_memory"][0]["number"] == 2);
}

TEST_CASE("best says that all values are infinite") {
    const Workshop workshop;
    const std::string path = workshop.file("infinite.db");
    write_study(path, "s", {{{HUGE_VAL}}, {{HUGE_VAL}}});
    CHECK(analyze("best --store '" + path + "'").out == "no complete trial has a finite value in study s (2 trials)\n");
}
