// SPDX-License-Identifier: MIT
#include <SQLiteCpp/Database.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "hpo/store/sqlite.hpp"
#include "support/catch.hpp"
#include "support/command.hpp"
#include "support/wording.hpp"
#include "tools/serve_session.hpp"
#include "tools/slow_bowl.hpp"

using namespace hpo::test;
using namespace std::chrono_literals;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

const std::string script = slow_bowl({.trials = 60, .workers = 2, .sleep_ms = 20});

pid_t start(const Workshop& workshop, std::vector<std::string> more = {}) {
    workshop.write("bowl.lua", script);
    std::vector<std::string> words{tool("hpo-tune"), "run", "bowl.lua", "--progress", "plain"};
    words.insert(words.end(), more.begin(), more.end());
    return start_command(workshop, words);
}

void check_all_done_once(const Workshop& workshop) {
    hpo::store::Sqlite store{workshop.path("hpo.db").string()};
    std::vector<hpo::Trial> trials;
    store.refresh(store.open_study("bowl", std::vector{hpo::Direction::minimize}, hpo::Store::Open::resume).id, trials);
    CHECK(std::count_if(trials.begin(), trials.end(), hpo::counts_as_done) == 60);
    for (const hpo::Trial& trial : trials) CHECK(hpo::is_finished(trial.state));
    SQLite::Database database{workshop.path("hpo.db").string(), SQLite::OPEN_READONLY};
    CHECK(database.execAndGet("PRAGMA integrity_check").getString() == "ok");
}

/// Another program that holds the store's write lock.
class Holder {
public:
    explicit Holder(const Workshop& workshop, const std::string& how = "BEGIN IMMEDIATE")
        : database_{workshop.path("hpo.db").string(), SQLite::OPEN_READWRITE, 10'000} {
        database_.exec(how);
    }
    void let_go() { database_.exec("ROLLBACK"); }

private:
    SQLite::Database database_;
};

/// As if the disk were full, for this process and those that it starts: files grow to 20 kB, which is enough for what they say.
class FullDisk {
public:
    FullDisk() {
        REQUIRE(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
        rlimit full = before_;
        full.rlim_cur = 20'000;
        REQUIRE(::setrlimit(RLIMIT_FSIZE, &full) == 0);
    }
    void end_here() {
        REQUIRE(::setrlimit(RLIMIT_FSIZE, &before_) == 0);
        ::signal(SIGXFSZ, former_);
    }
    void end_for(pid_t process) const { REQUIRE(::prlimit(process, RLIMIT_FSIZE, &before_, nullptr) == 0); }

private:
    sighandler_t former_ = ::signal(SIGXFSZ, SIG_IGN);
    rlimit before_{};
};

}  // namespace

TEST_CASE("a run waits for a store that another program has locked, says so once, and loses nothing") {
    const Workshop workshop;
    const pid_t child = start(workshop);
    REQUIRE(has_said(workshop, "\ntrial 3: x="));
    Holder holder{workshop};
    const bool told = has_said(workshop, "is locked by process " + std::to_string(getpid()));
    holder.let_go();
    const auto ended = finish_command(workshop, child);
    INFO(ended.error);
    CHECK(told);
    CHECK(ended.status == 0);
    CHECK(times(ended.error, "hpo-tune: note: store 'hpo.db': is locked by ") == 1);
    CHECK(times(ended.error, "hpo-tune: note: store 'hpo.db': can be used again after ") == 1);
    CHECK(times(ended.error, ": interrupted") == 0);
    check_all_done_once(workshop);
}

TEST_CASE("an estimate says that it waits where a rollback journal lets nobody read, and gives up with an error") {
    const Workshop workshop;
    const auto run = finish_command(workshop, start(workshop, {"--trials", "4"}));
    REQUIRE(run.status == 0);
    Holder holder{workshop, "PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE"};
    const std::vector<std::string> words{tool("hpo-tune"), "estimate", "bowl.lua", "--guard", "calibrated"};
    const pid_t child = start_command(workshop, words);
    const bool told = has_said(workshop, "hpo-tune: note: store 'hpo.db': is locked by process " + std::to_string(getpid()));
    holder.let_go();
    const auto ended = finish_command(workshop, child);
    INFO(ended.error << ended.out);
    CHECK(told);
    CHECK(ended.status == run_command(workshop, words).status);
    CHECK(times(ended.error, "hpo-tune: note: store 'hpo.db': can be used again after ") == 1);
    const Holder other{workshop, "BEGIN EXCLUSIVE"};
    std::vector<std::string> in_haste = words;
    in_haste.insert(in_haste.end(), {"--store-wait", "100ms"});
    const auto refused = run_command(workshop, in_haste);
    CHECK(refused.status == 3);
    CHECK_THAT(refused.error, Contains("error: store 'hpo.db': locked for more than 100 ms by process"));
}

TEST_CASE("a run that begins on a full disk waits for room, says so once, and loses nothing") {
    const Workshop workshop;
    FullDisk disk;
    const pid_t child = start(workshop);
    disk.end_here();
    const bool told = has_said(workshop, "store 'hpo.db': reading or writing failed");
    disk.end_for(child);
    const auto ended = finish_command(workshop, child);
    INFO(ended.error);
    CHECK(told);
    CHECK(ended.status == 0);
    CHECK(times(ended.error, "hpo-tune: note: store 'hpo.db': ") == 2);
    check_all_done_once(workshop);
}

TEST_CASE("a session waits for room on the disk as a run does, and then answers") {
    const Workshop workshop;
    FullDisk disk;
    ServeSession session{workshop};
    disk.end_here();
    session.send("{\"op\": \"create_study\", \"study\": \"s\", \"directions\": [\"minimize\"], \"store\": \"hpo.db\"}\n");
    const bool told = has_said(workshop, "hpo-tune: note: store 'hpo.db': reading or writing failed");
    disk.end_for(session.pid());
    CHECK(told);
    CHECK(session.receive().at("ok").get<bool>());
    CHECK(session(R"({"op": "ask", "space": {"x": {"name": "FloatDistribution", "attributes": {"low": 0, "high": 1}}}})")
              .at("ok")
              .get<bool>());
    CHECK(session.end() == 0);
}

TEST_CASE("a run waits for room on the disk, says so once, and loses nothing") {
    const Workshop workshop;
    // A limit on the size of files stands for the full disk: with it, the kernel refuses what would make a file grow.
    const auto former = ::signal(SIGXFSZ, SIG_IGN);
    const pid_t child = start(workshop);
    ::signal(SIGXFSZ, former);
    constexpr rlim_t most_bytes = 100'000;
    REQUIRE(eventually([&] {
        std::error_code none_yet;
        const auto size = fs::file_size(workshop.path("hpo.db-wal"), none_yet);
        return !none_yet && size > most_bytes && read_file(workshop.path(".error")).find("\ntrial 3: x=") != std::string::npos;
    }));
    rlimit before{};
    REQUIRE(::prlimit(child, RLIMIT_FSIZE, nullptr, &before) == 0);
    rlimit full = before;
    full.rlim_cur = most_bytes;
    REQUIRE(::prlimit(child, RLIMIT_FSIZE, &full, nullptr) == 0);
    const bool told = has_said(workshop, "store 'hpo.db': reading or writing failed");
    REQUIRE(::prlimit(child, RLIMIT_FSIZE, &before, nullptr) == 0);
    const auto ended = finish_command(workshop, child);
    INFO(ended.error);
    CHECK(told);
    CHECK(ended.status == 0);
    CHECK(times(ended.error, "hpo-tune: note: store 'hpo.db': ") == 2);
    CHECK(times(ended.error, ": interrupted") == 0);
    check_all_done_once(workshop);
}

TEST_CASE("a run whose store stays locked ends with status 3, a supervised one is started again and ends its trials") {
    const Workshop workshop;
    const pid_t child = start(workshop, {"--store-wait", "300ms"});
    REQUIRE(has_said(workshop, "\ntrial 3: x="));
    {
        Holder holder{workshop};
        const auto ended = finish_command(workshop, child);
        INFO(ended.error);
        CHECK(ended.status == 3);
        CHECK_THAT(ended.error, Contains("store 'hpo.db': locked for more than 300 ms by process " + std::to_string(getpid())));
        holder.let_go();
    }
    const pid_t parent = start(workshop, {"--store-wait", "300ms", "--supervise", "--restart-pause", "50ms", "--log", "run.log"});
    REQUIRE(has_said(workshop, trial_is_complete));
    Holder holder{workshop};
    const bool told = has_said(workshop, "hpo-tune: note: the run could not use its store after ");
    holder.let_go();
    const auto ended = finish_command(workshop, parent);
    INFO(ended.error);
    CHECK(told);
    CHECK(ended.status == 0);
    CHECK_THAT(read_file(workshop.path("run.log")), Contains("note: started again: the run could not use its store after "));
    check_all_done_once(workshop);
}
