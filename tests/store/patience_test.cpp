// SPDX-License-Identifier: MIT
#include <SQLiteCpp/Database.h>
#include <signal.h>
#include <sys/resource.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "hpo/store/sqlite.hpp"
#include "support/catch.hpp"
#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"

using hpo::store::Sqlite;
using namespace std::chrono_literals;
using Catch::Contains;

namespace {

const std::vector one{hpo::Direction::minimize};

/// While this lives, this process cannot make a file grow, as on a full disk. The kernel's answer is an error of the write.
class NoGrowth {
public:
    NoGrowth() {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        former_ = ::signal(SIGXFSZ, SIG_IGN);
        rlimit none = before_;
        none.rlim_cur = 4096;
        ::setrlimit(RLIMIT_FSIZE, &none);
    }
    NoGrowth(const NoGrowth&) = delete;
    NoGrowth& operator=(const NoGrowth&) = delete;
    ~NoGrowth() {
        end();
        ::signal(SIGXFSZ, former_);
    }
    void end() const { ::setrlimit(RLIMIT_FSIZE, &before_); }

private:
    rlimit before_{};
    void (*former_)(int) = SIG_DFL;
};

/// A process that holds the write lock of a store until it is told to let go.
hpo::tests::ChildProcess holder_of(const std::string& path) {
    return hpo::tests::ChildProcess{[path](const auto& write) {
        sigset_t release;
        sigemptyset(&release);
        sigaddset(&release, SIGUSR1);
        sigprocmask(SIG_BLOCK, &release, nullptr);
        SQLite::Database database{path, SQLite::OPEN_READWRITE};
        database.exec("BEGIN IMMEDIATE");
        write("held");
        int received = 0;
        sigwait(&release, &received);
        database.exec("COMMIT");
    }};
}

}  // namespace

TEST_CASE("a call waits for a lock, says so once, and goes on when the lock is gone") {
    const hpo::tests::TemporaryDirectory folder;
    const std::string path = folder.file("hpo.db");
    std::vector<std::string> told;
    auto holder = [&] {
        const std::int64_t id = Sqlite{path}.open_study("s", one, hpo::Store::Open::create).id;
        REQUIRE(id == 1);
        return holder_of(path);
    }();
    REQUIRE(holder.line() == "held");
    Sqlite store{path, {.busy_timeout = 10min, .told_after = 30ms, .tell = [&](const std::string& text) {
                            told.push_back(text);
                            if (told.size() == 1) ::kill(holder.pid(), SIGUSR1);
                        }}};
    CHECK(store.begin_trial(1, std::nullopt).number == 0);
    REQUIRE(told.size() == 2);
    CHECK_THAT(told[0], Contains("store '" + path + "': is locked by process " + std::to_string(holder.pid())) &&
                            Contains("waits at most 600 s for that to pass"));
    CHECK_THAT(told[1], Contains("store '" + path + "': can be used again after 0 s"));
    CHECK(store.begin_trial(1, std::nullopt).number == 1);
    CHECK(told.size() == 2);
}

TEST_CASE("a call that finds no room on the disk is made again when there is room, and has its effect once") {
    const hpo::tests::TemporaryDirectory folder;
    const std::string path = folder.file("hpo.db");
    std::vector<std::string> told;
    NoGrowth full;
    full.end();
    {
        NoGrowth* const disk = &full;
        Sqlite store{path, {.failure_timeout = 10min, .told_after = 30ms, .tell = [&told, disk](const std::string& text) {
                                told.push_back(text);
                                disk->end();
                            }}};
        const hpo::Study study = store.open_study("s", one, hpo::Store::Open::create);
        std::vector<hpo::Trial> trials;
        const NoGrowth now_full;
        hpo::Trial trial = store.begin_trial(study.id, std::nullopt);
        trial.state = hpo::TrialState::complete;
        trial.values = {1.0};
        store.finish(trial);
        store.refresh(study.id, trials);
        REQUIRE(trials.size() == 1);
        CHECK(trials[0].state == hpo::TrialState::complete);
        REQUIRE(told.size() == 2);
        CHECK_THAT(told[0], Contains("reading or writing failed") && Contains("waits at most 600 s"));
        CHECK_THAT(told[1], Contains("can be used again"));
    }
    SQLite::Database database{path, SQLite::OPEN_READONLY};
    CHECK(database.execAndGet("PRAGMA integrity_check").getString() == "ok");
}

TEST_CASE("opening waits for room on a full disk: of a new store, of one of an earlier journal mode, and of one in use") {
    for (const char* stored : {"nothing", "rollback journal", "write-ahead log"}) {
        INFO(stored);
        const hpo::tests::TemporaryDirectory folder;
        const std::string path = folder.file("hpo.db");
        if (stored != std::string{"nothing"}) (void)Sqlite{path}.open_study("s", one, hpo::Store::Open::create);
        if (stored == std::string{"rollback journal"}) {
            SQLite::Database database{path, SQLite::OPEN_READWRITE};
            CHECK(database.execAndGet("PRAGMA journal_mode = DELETE").getString() == "delete");
        }
        std::vector<std::string> told;
        const NoGrowth full;
        {
            Sqlite store{path, {.failure_timeout = 10min, .told_after = 30ms, .tell = [&](const std::string& text) {
                                    told.push_back(text);
                                    full.end();
                                }}};
            CHECK(store.open_study("s", one, hpo::Store::Open::create_or_resume).id == 1);
        }
        REQUIRE(told.size() == 2);
        CHECK_THAT(told[0], Contains("store '" + path + "': reading or writing failed") && Contains("waits at most 600 s"));
        CHECK_THAT(told[1], Contains("can be used again"));
        full.end();
        SQLite::Database database{path, SQLite::OPEN_READONLY};
        CHECK(database.execAndGet("PRAGMA integrity_check").getString() == "ok");
        CHECK(database.execAndGet("SELECT count(*) FROM studies").getInt() == 1);
    }
}

TEST_CASE("a wait in vain is an error that can pass, the next call does not wait as long again") {
    const hpo::tests::TemporaryDirectory folder;
    const std::string path = folder.file("hpo.db");
    (void)Sqlite{path}.open_study("s", one, hpo::Store::Open::create);
    auto holder = holder_of(path);
    REQUIRE(holder.line() == "held");
    bool stop = false;
    std::vector<std::string> told;
    Sqlite store{path,
                 {.busy_timeout = 10min,
                  .told_after = 20ms,
                  .tell =
                      [&](const std::string& text) {
                          told.push_back(text);
                          stop = true;
                      },
                  .gives_up = [&] { return stop; }}};
    for (int call = 0; call < 3; ++call) {
        try {
            (void)store.begin_trial(1, std::nullopt);
            FAIL("expected an error");
        } catch (const hpo::Error& error) {
            CHECK(error.code() == hpo::Errc::store_unavailable);
            CHECK_THAT(error.what(), Contains("locked for more than "));
        }
        stop = false;  // nobody asks any more, and still the later calls return after 20 ms
    }
    ::kill(holder.pid(), SIGUSR1);
    (void)holder.lines();
    CHECK(store.begin_trial(1, std::nullopt).number == 0);
    for (const std::string& text : told) CHECK_THAT(text, !Contains("can be used again"));  // a wait that ended in vain has told its end
}

TEST_CASE("the log of the write-ahead mode stays small beside a file that grows") {
    const hpo::tests::TemporaryDirectory folder;
    const std::string path = folder.file("hpo.db");
    Sqlite store{path};
    const std::int64_t id = store.open_study("s", one, hpo::Store::Open::create).id;
    for (int i = 0; i < 400; ++i) {
        hpo::Trial trial = store.begin_trial(id, std::nullopt);
        trial.state = hpo::TrialState::complete;
        trial.values = {1.0};
        store.finish(trial);
    }
    CHECK(std::filesystem::file_size(path + "-wal") < 1'600'000);  // 256 pages, and what the last commit added
}

TEST_CASE("a call that a file system holds up for long is told once it has returned, and only a longer one again") {
    const hpo::tests::TemporaryDirectory folder;
    std::vector<std::string> told;
    hpo::store::Connection connection{
        folder.file("hpo.db"),
        {.write = true, .immutable = false, .patience = {.stalled_after = 50ms, .tell = [&](const std::string& text) {
                                                             told.push_back(text);
                                                         }}}};
    const auto stalled = [&](std::chrono::milliseconds time) { connection.write([&] { std::this_thread::sleep_for(time); }); };
    stalled(3s);
    REQUIRE(told.size() == 1);
    CHECK_THAT(told[0], Contains("one call took 3 s: its file system is slow, or stood still"));
    connection.write([] {});
    CHECK(told.size() == 1);
}

TEST_CASE("a run of another host lives as long as its heartbeat changes, whatever the clocks of both hosts say") {
    const hpo::tests::TemporaryDirectory folder;
    const std::string path = folder.file("hpo.db");
    Sqlite store{path};
    const hpo::Study study = store.open_study("s", one, hpo::Store::Open::create);
    const hpo::Run remote =
        store.begin_run(study.id, {.id = -1, .host = "another-host", .pid = 1, .started_ticks = "1", .configuration = "{}"});
    (void)store.begin_trial(study.id, remote.id);
    SQLite::Database database{path, SQLite::OPEN_READWRITE};
    const auto heartbeat_at = [&](const std::string& when) { database.exec("UPDATE hpo_runs SET heartbeat_at = '" + when + "'"); };
    // Hours behind, hours ahead, and back: each is a sign of life.
    for (const char* when : {"2001-01-01 00:00:00.000000", "2091-01-01 00:00:00.000000", "2001-01-01 00:00:00.000001"}) {
        heartbeat_at(when);
        CHECK(store.settle_lost_trials(study.id, 60) == 0);
    }
    CHECK_FALSE(store.begin_trial_within(study.id, std::nullopt, {.trials = 1, .own_running = 0, .grace_seconds = 60}));
    // No sign of life for longer than the grace, by this process's monotonic clock.
    std::this_thread::sleep_for(30ms);
    CHECK(store.settle_lost_trials(study.id, 0.02) == 1);
}
