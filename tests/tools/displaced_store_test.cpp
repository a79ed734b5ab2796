// SPDX-License-Identifier: MIT
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "hpo/store/sqlite.hpp"
#include "support/catch.hpp"
#include "support/command.hpp"
#include "tools/slow_bowl.hpp"

using namespace hpo::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

const std::string script = slow_bowl({.trials = 30, .workers = 1, .sleep_ms = 60});

/// A run to whose store something happens once its third trial has begun.
CommandResult disturbed(const Workshop& workshop, const std::function<void()>& disturb, std::vector<std::string> more = {}) {
    workshop.write("bowl.lua", script);
    std::vector<std::string> words{tool("hpo-tune"), "run", "bowl.lua", "--progress", "plain"};
    words.insert(words.end(), more.begin(), more.end());
    const pid_t child = start_command(workshop, words);
    CHECK(has_said(workshop, "trial 2: x="));
    disturb();
    return finish_command(workshop, child);
}

std::size_t complete_in(const fs::path& file) {
    hpo::store::Sqlite store{file.string()};
    std::vector<hpo::Trial> trials;
    store.refresh(store.open_study("bowl", std::vector{hpo::Direction::minimize}, hpo::Store::Open::resume).id, trials);
    return static_cast<std::size_t>(std::count_if(trials.begin(), trials.end(), hpo::counts_as_done));
}

}  // namespace

TEST_CASE("a store that is removed while a run works ends the run, and its trials are in a new file beside it") {
    const Workshop workshop;
    workshop.write("hpo.db.rescued-1", "somebody else's");
    const auto run = disturbed(workshop, [&] {
        for (const char* name : {"hpo.db", "hpo.db-wal", "hpo.db-shm"}) fs::remove(workshop.path(name));
    });
    INFO(run.error);
    CHECK(run.status == 3);
    CHECK_THAT(run.error,
               Contains("hpo-tune: error: store 'hpo.db': the file was removed while the run worked; all that it held is saved in "
                        "hpo.db.rescued-2 (study bowl: ") &&
                   Contains("go on with: hpo-tune run bowl.lua --progress plain --store hpo.db.rescued-2\n"));
    CHECK(run.out.empty());
    CHECK(read_file(workshop.path("hpo.db.rescued-1")) == "somebody else's");
    CHECK_FALSE(fs::exists(workshop.path("hpo.db")));
    CHECK(complete_in(workshop.path("hpo.db.rescued-2")) >= 2);

    const auto again =
        run_command(workshop, {tool("hpo-tune"), "run", "bowl.lua", "--progress", "plain", "--store", "hpo.db.rescued-2", "--trials", "5"});
    CHECK(again.status == 0);
    CHECK_THAT(again.error, Contains("study bowl: ") && Contains(" of 5 done"));
}

TEST_CASE("a store that is renamed while a run works is named by its new name") {
    const Workshop workshop;
    const auto run = disturbed(workshop, [&] { fs::rename(workshop.path("hpo.db"), workshop.path("old.db")); });
    INFO(run.error);
    CHECK(run.status == 3);
    CHECK_THAT(run.error, Contains("the file was renamed to '" + fs::canonical(workshop.path("old.db")).string() +
                                   "' while the run worked; all that it held is saved in hpo.db.rescued-1"));
    CHECK(complete_in(workshop.path("hpo.db.rescued-1")) >= 2);
}

TEST_CASE("a store that is replaced while a run works is left as it is") {
    const Workshop workshop;
    const auto run = disturbed(workshop, [&] {
        workshop.write("other", "another file");
        fs::rename(workshop.path("other"), workshop.path("hpo.db"));
    });
    INFO(run.error);
    CHECK(run.status == 3);
    CHECK_THAT(run.error, Contains("the file was replaced by another file while the run worked"));
    CHECK(read_file(workshop.path("hpo.db")) == "another file");
    CHECK(complete_in(workshop.path("hpo.db.rescued-1")) >= 2);
}

TEST_CASE("a store whose folder is removed is saved in the working folder") {
    const Workshop workshop;
    fs::create_directory(workshop.path("runs"));
    const auto run = disturbed(workshop, [&] { fs::remove_all(workshop.path("runs")); }, {"--store", "runs/hpo.db"});
    INFO(run.error);
    CHECK(run.status == 3);
    CHECK_THAT(run.error, Contains("/hpo.db.rescued-1 "));
    CHECK(complete_in(workshop.path("hpo.db.rescued-1")) >= 2);
}

TEST_CASE("a store that is removed in the last trial of a run is noticed, too") {
    const Workshop workshop;
    const auto run = disturbed(workshop, [&] { fs::remove(workshop.path("hpo.db")); }, {"--trials", "3"});
    INFO(run.error);
    CHECK(run.status == 3);
    CHECK(complete_in(workshop.path("hpo.db.rescued-1")) == 3);
}
