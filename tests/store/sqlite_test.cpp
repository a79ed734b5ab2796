// SPDX-License-Identifier: MIT
#include "hpo/store/sqlite.hpp"

#include <filesystem>

#include "hpo/store/sqlite/study_attributes.hpp"
#include "store/directions.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

using hpo::tests::minimize;

TEST_CASE("a study goes on in a file that was closed") {
    const auto path = std::filesystem::temp_directory_path() / ("hpo-goes-on-" + std::to_string(getpid()) + ".db");
    std::filesystem::remove(path);
    {
        hpo::store::Sqlite store{path};
        const auto study = store.open_study("s", minimize, hpo::Store::Open::create);
        hpo::Trial trial = store.begin_trial(study.id, std::nullopt);
        trial.params.set("x", hpo::FloatDistribution{.low = -5, .high = 5, .log = false, .step = {}}, 1.5);
        store.set_params(trial);
        trial.state = hpo::TrialState::complete;
        trial.values = {2.25};
        trial.constraints["memory"] = 0.5;
        store.finish(trial);
    }
    hpo::store::Sqlite store{"sqlite:///" + path.string()};
    const auto study = store.open_study("s", minimize, hpo::Store::Open::resume);
    CHECK(store.begin_trial(study.id, std::nullopt).number == 1);
    std::vector<hpo::Trial> trials;
    store.refresh(study.id, trials);
    REQUIRE(trials.size() == 2);
    CHECK(trials[0].values == std::vector{2.25});
    CHECK(trials[0].params.number("x") == 1.5);
    CHECK(trials[0].constraints.at("memory") == 0.5);
    CHECK(trials[0].system_attributes.empty());
    CHECK(trials[1].state == hpo::TrialState::running);
    std::filesystem::remove(path);
}

TEST_CASE("constraints that a program's sampler lists count beside those that hpo names") {
    const hpo::tests::TemporaryDirectory folder;
    hpo::store::Sqlite store{folder.file("hpo.db")};
    const auto study = store.open_study("s", minimize, hpo::Store::Open::create);
    hpo::Trial trial = store.begin_trial(study.id, std::nullopt);
    trial.state = hpo::TrialState::complete;
    trial.values = {1};
    trial.constraints = {{"a", 0.25}, {"memory", -0.5}};
    store.finish(trial);
    const auto read = [&] {
        hpo::store::Sqlite again{store.path()};
        std::vector<hpo::Trial> trials;
        again.refresh(study.id, trials);
        return trials.at(0).constraints;
    };
    CHECK(read() == trial.constraints);
    hpo::store::Connection connection{store.path(), hpo::store::Connection::Options{.write = true}};
    connection.run("UPDATE trial_system_attributes SET value_json = '[0.75, -1.0]' WHERE \"key\" = 'constraints'");
    CHECK(read() == hpo::Constraints{{"0", 0.75}, {"1", -1}, {"a", 0.25}, {"memory", -0.5}});
}

TEST_CASE("where Optuna 5 reads them, each constraint is written once: in the list by number, the others by name") {
    const hpo::tests::TemporaryDirectory folder;
    hpo::store::Sqlite store{folder.file("hpo.db")};
    store.write_constraints_as(hpo::store::ConstraintFormat::optuna_5);
    const auto study = store.open_study("s", minimize, hpo::Store::Open::create);
    const auto written = [&](const hpo::Constraints& constraints) {
        hpo::Trial trial = store.begin_trial(study.id, std::nullopt);
        trial.state = hpo::TrialState::complete;
        trial.values = {1};
        trial.constraints = constraints;
        store.finish(trial);
        hpo::store::Sqlite again{store.path()};
        std::vector<hpo::Trial> trials;
        again.refresh(study.id, trials);
        CHECK(trials.back().constraints == constraints);
        hpo::store::Connection connection{store.path(), hpo::store::Connection::Options{.write = true}};
        std::map<std::string, std::string> rows;
        hpo::store::Rows row = connection.query("SELECT \"key\", value_json FROM trial_system_attributes WHERE trial_id = ?1", trial.id);
        while (row.next()) rows[row.text(0)] = row.text(1);
        return rows;
    };
    using Rows = std::map<std::string, std::string>;
    CHECK(written({{"a", 0.25}, {"memory", -0.5}}) == Rows{{"constraints:a", "0.25"}, {"constraints:memory", "-0.5"}});
    CHECK(written({{"0", 0.75}, {"1", -1.5}}) == Rows{{"constraints", "[0.75, -1.5]"}});
    CHECK(written({{"0", 0.75}, {"2", 1.5}, {"a", 0.25}}) ==
          Rows{{"constraints", "[0.75]"}, {"constraints:2", "1.5"}, {"constraints:a", "0.25"}});
}

TEST_CASE("a study's attribute is replaced only where it is what was read before") {
    const hpo::tests::TemporaryDirectory folder;
    hpo::store::Sqlite store{folder.file("hpo.db")};
    const auto study = store.open_study("s", minimize, hpo::Store::Open::create);
    hpo::store::Connection connection{store.path(), hpo::store::Connection::Options{.write = true}};
    const auto replace = [&](const std::optional<std::string>& expected, const std::string& json) {
        return hpo::store::replace_study_system_attribute(connection, study.id, "options", expected, json);
    };
    CHECK(replace(std::nullopt, "1"));
    CHECK_FALSE(replace(std::nullopt, "2"));
    CHECK(store.studies().at(0).system_attributes.at("options") == "1");
    CHECK(replace("1", "2"));
    CHECK_FALSE(replace("1", "3"));
    CHECK(store.studies().at(0).system_attributes.at("options") == "2");
}
