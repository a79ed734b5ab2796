// SPDX-License-Identifier: MIT
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analyze.hpp"
#include "hpo/store/configurations.hpp"
#include "hpo/store/sqlite.hpp"
#include "support/catch.hpp"

using namespace hpo::test;
using Catch::Contains;
using nlohmann::json;

namespace {

/// Complete trials of configurations, each of which has as many trials as values.
void write_seeds(const std::string& path, const std::string& name, const std::vector<std::vector<double>>& configurations) {
    hpo::store::Sqlite store{path};
    const hpo::Study study = store.open_study(name, std::vector{hpo::Direction::maximize}, hpo::Store::Open::create);
    for (const std::vector<double>& values : configurations) {
        std::int64_t first = -1;
        for (const double value : values) {
            hpo::Trial trial = store.begin_trial(study.id, std::nullopt);
            if (first < 0) trial.system_attributes[hpo::seeds_attribute] = values.size();
            else trial.system_attributes[hpo::repeats_attribute] = first;
            if (first < 0) first = trial.number;
            trial.params.set("x", hpo::FloatDistribution{0, 100, false, std::nullopt}, static_cast<double>(first));
            store.set_params(trial);
            trial.state = hpo::TrialState::complete;
            trial.values = {value};
            store.finish(trial);
        }
    }
}

}  // namespace

TEST_CASE("best ranks configurations of several seeds by their means and says how sure their order is") {
    const Workshop workshop;
    const std::string path = workshop.file("seeds.db");
    write_seeds(path, "near", {{0.99, 0.5, 0.5}, {0.91, 0.93, 0.92}, {0.90, 0.86, 0.91}});
    write_seeds(path, "far", {{0.1, 0.11, 0.12}, {0.91, 0.93, 0.92}});
    const std::string store = " --store '" + path + "' --study ";
    CHECK_THAT(analyze("best" + store + "near").out,
               Catch::StartsWith("Trial 3 of study near: 0.92 ± 0.0058, the mean of 3 seeds (trials 3, 4, 5)") &&
                   Contains("The next is trial 6: 0.89 ± 0.015") && Contains("order is not sure at the level 0.05, because p = 0.18 "));
    CHECK_THAT(analyze("best" + store + "far").out, Contains("order is sure at the level 0.05"));
    const json best = json::parse(analyze("best --json --top 2" + store + "near").out);
    CHECK(best["best"][0]["seeds"]["trials"] == json{3, 4, 5});
    CHECK(best["best"][0]["seeds"]["means"][0].get<double>() == Approx(0.92));
    CHECK(best["best"][1]["number"] == 6);
    CHECK(best["order"]["next"] == 6);
    CHECK(best["order"]["p_value"].get<double>() == Approx(0.1790968).epsilon(1e-5));
    CHECK_THAT(analyze("best --top 2" + store + "near").out, Contains("0.92  3, ± 0.0058 (trials 3, 4, 5)"));
}

TEST_CASE("best doubts that trials with one and the same value had different seeds") {
    const Workshop workshop;
    const std::string path = workshop.file("same.db");
    write_seeds(path, "same", {{0.5, 0.5, 0.5}, {0.4, 0.4, 0.4}});
    CHECK_THAT(analyze("best --store '" + path + "'").out, Contains("because the trials of a configuration have the"));
}

TEST_CASE("best says that no configuration has all of its seeds") {
    const Workshop workshop;
    const std::string path = workshop.file("begun.db");
    write_seeds(path, "begun", {{0.5, 0.6, 0.7}});
    {
        hpo::store::Sqlite store{path};
        const hpo::Study study = store.open_study("more", std::vector{hpo::Direction::maximize}, hpo::Store::Open::create);
        hpo::Trial trial = store.begin_trial(study.id, std::nullopt);
        trial.system_attributes[hpo::seeds_attribute] = 2;
        trial.state = hpo::TrialState::complete;
        trial.values = {1};
        store.finish(trial);
    }
    CHECK_THAT(analyze("best --store '" + path + "' --study more").out, Contains("no configuration has all of its seeds yet"));
}
