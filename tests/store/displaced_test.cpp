// SPDX-License-Identifier: MIT
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "hpo/store/sqlite.hpp"
#include "store/directions.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

using hpo::tests::minimize;
namespace fs = std::filesystem;

TEST_CASE("a store says what happened to its file, and begins no trial in a file that is lost") {
    const hpo::tests::TemporaryDirectory folder;
    hpo::store::Sqlite store{folder.file("hpo.db")};
    const auto study = store.open_study("s", minimize, hpo::Store::Open::create);
    const hpo::Run run = store.begin_run(study.id, {});
    CHECK(store.displaced() == std::nullopt);
    store.require_in_place();

    fs::rename(folder.path("hpo.db"), folder.path("old.db"));
    CHECK(store.displaced() == "was renamed to '" + fs::canonical(folder.path("old.db")).string() + "'");
    CHECK_THROWS_WITH(store.heartbeat(run), Catch::Contains("old.db' while it was open"));
    CHECK_THROWS_AS(store.begin_trial(study.id, run.id), hpo::Error);
    CHECK_THROWS_AS(store.begin_trial_within(study.id, run.id, {.trials = 3}), hpo::Error);

    std::ofstream{folder.file("hpo.db")} << "another";
    CHECK_THAT(store.displaced().value_or(""), Catch::EndsWith("old.db', and another file took its place"));
    fs::remove(folder.path("old.db"));
    CHECK(store.displaced() == "was replaced by another file");
    fs::remove(folder.path("hpo.db"));
    CHECK(store.displaced() == "was removed");
}

TEST_CASE("a store whose write-ahead log is removed says so") {
    const hpo::tests::TemporaryDirectory folder;
    hpo::store::Sqlite store{folder.file("hpo.db")};
    const auto study = store.open_study("s", minimize, hpo::Store::Open::create);
    (void)store.begin_trial(study.id, std::nullopt);
    fs::remove(folder.path("hpo.db-wal"));
    CHECK(store.displaced() == "lost '" + folder.file("hpo.db-wal") + "', which belongs to it and was removed");
    std::ofstream{folder.file("hpo.db-wal")} << "x";
    CHECK_THAT(store.displaced().value_or(""), Catch::EndsWith("belongs to it and was replaced"));
    store.copy_to(folder.file("copy.db"));
    std::vector<hpo::Trial> trials;
    hpo::store::Sqlite copy{folder.file("copy.db")};
    copy.refresh(copy.open_study("s", minimize, hpo::Store::Open::resume).id, trials);
    CHECK(trials.size() == 1);
}

TEST_CASE("a file that is renamed and comes back is in its place again") {
    const hpo::tests::TemporaryDirectory folder;
    hpo::store::Sqlite store{folder.file("hpo.db")};
    fs::rename(folder.path("hpo.db"), folder.path("old.db"));
    fs::rename(folder.path("old.db"), folder.path("hpo.db"));
    CHECK(store.displaced() == std::nullopt);
}

TEST_CASE("a store is copied whole to a new file, even after its own was removed, and never over a file") {
    const hpo::tests::TemporaryDirectory folder;
    hpo::store::Sqlite store{folder.file("hpo.db")};
    const auto study = store.open_study("s", minimize, hpo::Store::Open::create);
    hpo::Trial trial = store.begin_trial(study.id, std::nullopt);
    for (const char* name : {"hpo.db", "hpo.db-wal", "hpo.db-shm"}) fs::remove(folder.path(name));
    trial.state = hpo::TrialState::complete;
    trial.values = {2.25};
    store.finish(trial);

    store.copy_to(folder.file("copy.db"));
    hpo::store::Sqlite copy{folder.file("copy.db")};
    std::vector<hpo::Trial> trials;
    copy.refresh(copy.open_study("s", minimize, hpo::Store::Open::resume).id, trials);
    REQUIRE(trials.size() == 1);
    CHECK(trials[0].values == std::vector{2.25});

    CHECK_THROWS_WITH(store.copy_to(folder.file("copy.db")), Catch::Contains("cannot be made: File exists"));
    CHECK_THROWS_WITH(store.copy_to(folder.file("no/copy.db")), Catch::Contains("No such file or directory"));
}
