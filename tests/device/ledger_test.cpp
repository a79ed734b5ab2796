// SPDX-License-Identifier: MIT
#include "hpo/device/ledger.hpp"

#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "hpo/core/seed.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

using hpo::device::Ledger;
using namespace std::chrono_literals;
using Answer = Ledger::Answer;

namespace {

constexpr std::int64_t budget = 1000;

struct Host {
    hpo::tests::TemporaryDirectory folder;
    [[nodiscard]] Ledger ledger(std::chrono::milliseconds patience = 1h) const { return Ledger{folder.path("ledger"), patience}; }
};

Answer ask(Ledger& ledger, std::int64_t trial, std::int64_t bytes) {
    return ledger.ask({.trial = trial, .bytes = bytes, .budget_bytes = budget});
}

std::int64_t granted_bytes(const Ledger& ledger) {
    std::int64_t sum = 0;
    for (const auto& entry : ledger.entries()) sum += entry.granted ? entry.bytes : 0;
    return sum;
}

/// A process that does `work`, tells that it has, and goes on with `then` until it is killed.
class Other {
public:
    template <class Work, class Then>
    Other(const Work& work, const Then& then) {
        int ready[2];
        REQUIRE(::pipe(ready) == 0);
        pid_ = ::fork();
        if (pid_ == 0) {
            work();
            static_cast<void>(::write(ready[1], "y", 1));
            for (;;) then();
        }
        ::close(ready[1]);
        char answer = 0;
        REQUIRE(::read(ready[0], &answer, 1) == 1);
        ::close(ready[0]);
    }
    template <class Work>
    explicit Other(const Work& work) : Other{work, [] { ::pause(); }} {}
    Other(const Other&) = delete;
    Other& operator=(const Other&) = delete;
    ~Other() { kill(); }
    void kill() {
        if (pid_ <= 0) return;
        ::kill(pid_, SIGKILL);
        int status = 0;
        ::waitpid(std::exchange(pid_, 0), &status, 0);
    }

private:
    pid_t pid_ = 0;
};

}  // namespace

TEST_CASE("small attempts pack, and the budget is never exceeded") {
    const Host host;
    Ledger ledger = host.ledger();
    CHECK(ask(ledger, 0, 400) == Answer::granted);
    CHECK(ask(ledger, 1, 400) == Answer::granted);
    CHECK(ask(ledger, 2, 201) == Answer::waits);
    CHECK(ask(ledger, 3, 200) == Answer::granted);
    CHECK(ask(ledger, 0, 400) == Answer::granted);  // as before, and nothing more
    CHECK(granted_bytes(ledger) == 1000);
    ledger.give_back(1);
    CHECK(ask(ledger, 2, 201) == Answer::granted);
    CHECK(granted_bytes(ledger) == 801);
    CHECK(ask(ledger, 4, 1001) == Answer::never);
    CHECK(ask(ledger, 5, 0) == Answer::granted);
    CHECK_THROWS_WITH(ask(ledger, 6, -1), "ledger: got -1 bytes; expected 0 or more");
    CHECK(ledger.ask({.trial = 7, .bytes = std::int64_t{1} << 62, .budget_bytes = (std::int64_t{1} << 62) - 1}) == Answer::never);
    CHECK(ledger.ask({.trial = 7, .bytes = 1, .budget_bytes = -5}) == Answer::never);
}

TEST_CASE("what fits goes to who asked first, whoever asks again first") {
    const Host host;
    Ledger ledger = host.ledger();
    CHECK(ask(ledger, 0, 1000) == Answer::granted);
    CHECK(ask(ledger, 1, 600) == Answer::waits);
    CHECK(ask(ledger, 2, 600) == Answer::waits);
    CHECK(ask(ledger, 3, 400) == Answer::waits);
    ledger.give_back(0);
    CHECK(ask(ledger, 2, 600) == Answer::waits);
    CHECK(ask(ledger, 3, 400) == Answer::granted);  // beside trial 1
    CHECK(ask(ledger, 1, 600) == Answer::granted);
}

TEST_CASE("small attempts pass a large one until it has waited long enough, and not after") {
    const Host host;
    Ledger ledger = host.ledger(50ms);
    CHECK(ask(ledger, 0, 300) == Answer::granted);
    CHECK(ask(ledger, 1, 900) == Answer::waits);
    CHECK(ask(ledger, 2, 300) == Answer::granted);
    std::this_thread::sleep_for(60ms);
    CHECK(ask(ledger, 1, 900) == Answer::waits);
    CHECK(ask(ledger, 3, 300) == Answer::waits);
    ledger.give_back(0);
    CHECK(ask(ledger, 3, 300) == Answer::waits);
    ledger.give_back(2);
    CHECK(ask(ledger, 3, 300) == Answer::waits);
    CHECK(ask(ledger, 1, 900) == Answer::granted);
    ledger.give_back(1);
    CHECK(ask(ledger, 3, 300) == Answer::granted);
}

TEST_CASE("processes share a ledger, each within the budget that it sees, one that is killed leaves nothing") {
    const Host host;
    Ledger ledger = host.ledger();
    Other other{[&] {
        Ledger own = host.ledger();
        static_cast<void>(ask(own, 0, 700));
        static_cast<void>(ask(own, 1, 900));
    }};
    const auto held = ledger.entries();
    REQUIRE(held.size() == 2);
    CHECK(held[0].granted);
    CHECK_FALSE(held[1].granted);
    CHECK(held[0].pid != ::getpid());
    CHECK(ask(ledger, 0, 301) == Answer::waits);  // trial 0 of another process is not this one's
    CHECK(ask(ledger, 1, 300) == Answer::granted);
    CHECK(ledger.ask({.trial = 2, .bytes = 200, .budget_bytes = 1500}) == Answer::waits);  // trial 0 fits there, too
    CHECK(ledger.ask({.trial = 2, .bytes = 199, .budget_bytes = 1500}) == Answer::granted);
    other.kill();
    CHECK(ask(ledger, 0, 301) == Answer::granted);
    CHECK(ledger.entries().size() == 3);
}

TEST_CASE("a group shares the ledgers of its folder, elsewhere each user has his own") {
    if (::geteuid() != 0) {
        WARN("skipped: only root can become other users");
        return;
    }
    constexpr ::gid_t group = 61234;
    constexpr ::uid_t stranger = 61235;
    const hpo::tests::TemporaryDirectory folder;
    std::filesystem::permissions(folder.path("."), std::filesystem::perms::all);
    const auto become = [](::uid_t user) { return ::setgroups(0, nullptr) == 0 && ::setgid(group) == 0 && ::setuid(user) == 0; };
    const auto in_folder = [&](::mode_t mode) {
        const auto path = folder.path(std::to_string(mode));
        std::filesystem::create_directory(path);
        REQUIRE(::chown(path.c_str(), 0, group) == 0);
        REQUIRE(::chmod(path.c_str(), mode) == 0);
        return path / "ledger";
    };
    const auto asks = [&](const std::filesystem::path& file, ::uid_t user, std::int64_t bytes) {
        return [=] {
            if (!become(user)) std::abort();
            Ledger own{file};
            static_cast<void>(ask(own, 0, bytes));
        };
    };
    for (const ::mode_t mode : {02770U, 0770U}) {
        INFO(mode);
        const auto file = in_folder(mode);
        Other other{asks(file, stranger, 700)};
        Ledger ledger{file};
        CHECK(granted_bytes(ledger) == 700);
        CHECK(ask(ledger, 0, 400) == Answer::waits);
        other.kill();
        CHECK(ask(ledger, 0, 400) == Answer::granted);
        struct ::stat status {};
        REQUIRE(::stat(file.c_str(), &status) == 0);
        CHECK((status.st_mode & 0777U) == 0660U);
        CHECK(status.st_gid == group);
        Other second{asks(file, stranger + 1, 500)};
        CHECK(granted_bytes(ledger) == 900);
    }
    for (const ::mode_t mode : {01777U, 01770U, 0777U}) {
        INFO(mode);
        const auto file = in_folder(mode);
        Other other{asks(file, stranger, 700)};
        CHECK_THROWS_WITH(Ledger{file},
                          Catch::Contains("ledger: a ledger of another user, in a folder that is not a group's; name another"));
        struct ::stat status {};
        REQUIRE(::stat(file.c_str(), &status) == 0);
        CHECK((status.st_mode & 0777U) == 0600U);
    }
}

TEST_CASE("a ledger of processes that cannot be seen is refused, and taken over when nobody has a part in it") {
    const Host host;
    /// What a process in a new space of process ids gets: 0 the ledger, 1 an error that says why not, 77 no such space.
    const auto from_elsewhere = [&] {
        const pid_t child = ::fork();
        if (child == 0) {
            if (::unshare(CLONE_NEWPID) != 0) ::_exit(77);
            const pid_t inner = ::fork();
            if (inner == 0) {
                try {
                    const Ledger ledger = host.ledger();
                    ::_exit(0);
                } catch (const hpo::Error& error) {
                    ::_exit(std::string{error.what()}.find("processes that this one cannot see") != std::string::npos ? 1 : 2);
                }
            }
            int status = 0;
            ::waitpid(inner, &status, 0);
            ::_exit(WEXITSTATUS(status));
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        return WEXITSTATUS(status);
    };
    const int alone = from_elsewhere();
    if (alone == 77) {
        WARN("skipped: this user may not make a space of process ids");
        return;
    }
    CHECK(alone == 0);
    Ledger ledger = host.ledger();  // nobody had a part in it
    CHECK(ask(ledger, 0, 10) == Answer::granted);
    CHECK(from_elsewhere() == 1);
    CHECK(granted_bytes(ledger) == 10);
    ledger.give_back(0);
    CHECK(from_elsewhere() == 0);
}

TEST_CASE("a request's patience is its own ledger's, whoever would pass it") {
    const Host host;
    double now = Ledger::host_seconds();
    const auto clock = [&] { return now; };
    Ledger hasty{host.folder.path("ledger"), 100s, clock};
    Ledger patient{host.folder.path("ledger"), 1h, clock};
    CHECK(ask(patient, 0, 600) == Answer::granted);
    CHECK(ask(hasty, 0, 900) == Answer::waits);
    CHECK(ask(patient, 1, 100) == Answer::granted);
    now += 55;
    CHECK(ask(hasty, 0, 900) == Answer::waits);
    now += 50;
    CHECK(ask(patient, 2, 100) == Answer::waits);
}

TEST_CASE("a waiting attempt whose process no longer asks holds nobody up") {
    const Host host;
    double now = Ledger::host_seconds();
    Ledger ledger{host.folder.path("ledger"), 1ms, [&] { return now; }};
    CHECK(ask(ledger, 0, 600) == Answer::granted);
    Other silent{[&] {
        Ledger own = host.ledger(1ms);
        static_cast<void>(ask(own, 0, 900));
    }};
    now = Ledger::host_seconds() + 1;
    CHECK(ask(ledger, 1, 300) == Answer::waits);
    CHECK_FALSE(ledger.raise({.trial = 0, .bytes = 650, .budget_bytes = budget}));
    now += Ledger::forgotten_seconds + 1;
    CHECK(ledger.raise({.trial = 0, .bytes = 650, .budget_bytes = budget}));
    CHECK(ask(ledger, 1, 300) == Answer::granted);
}

TEST_CASE("a process that is killed at any moment inside the ledger leaves it whole") {
    const Host host;
    Ledger ledger = host.ledger();
    hpo::Rng rng = hpo::Seed{7}.rng();
    for (int round = 0; round < 60; ++round) {
        std::int64_t trial = 0;
        Ledger theirs = host.ledger();
        Other busy{[] {},
                   [&] {
                       trial = (trial + 1) % 16;
                       if (ask(theirs, trial, 100) == Answer::granted && trial % 3 == 0) theirs.give_back(trial);
                   }};
        std::this_thread::sleep_for(std::chrono::microseconds{rng.below(3000)});
        CHECK(granted_bytes(ledger) <= budget);
        busy.kill();
        CHECK(ledger.entries().empty());
        CHECK(ask(ledger, 0, budget) == Answer::granted);
        ledger.give_back(0);
    }
}

TEST_CASE("with attempts of many sizes from several ledgers, every request is served and nothing is exceeded") {
    const Host host;
    std::vector<Ledger> ledgers;
    for (int i = 0; i < 3; ++i) ledgers.push_back(host.ledger(2ms));
    hpo::Rng rng = hpo::Seed{11}.rng();
    const auto ledger_of = [&](std::int64_t trial) -> Ledger& { return ledgers[static_cast<std::size_t>(trial) % ledgers.size()]; };
    std::map<std::int64_t, std::int64_t> waiting;  // bytes by trial
    std::map<std::int64_t, int> running;           // rounds left by trial
    std::int64_t begun = 0;
    int served = 0;
    for (int round = 0; served < 300; ++round) {
        REQUIRE(round < 100'000);
        while (waiting.size() < 4 && begun < 300) waiting[begun++] = 1 + static_cast<std::int64_t>(rng.below(budget));
        for (auto each = waiting.begin(); each != waiting.end();) {
            if (ask(ledger_of(each->first), each->first, each->second) == Answer::granted) {
                running[each->first] = 1 + static_cast<int>(rng.below(5));
                each = waiting.erase(each);
            } else ++each;
        }
        REQUIRE(granted_bytes(ledgers[0]) <= budget);
        for (auto each = running.begin(); each != running.end();) {
            if (--each->second > 0) {
                ++each;
                continue;
            }
            ledger_of(each->first).give_back(each->first);
            ++served;
            each = running.erase(each);
        }
        std::this_thread::sleep_for(100us);
    }
    CHECK(ledgers[0].entries().empty());
}

TEST_CASE("a file that is no ledger is refused, and a full ledger says so") {
    const Host host;
    std::ofstream{host.folder.path("text")} << "no ledger";
    CHECK_THROWS_WITH(Ledger{host.folder.path("text")}, Catch::Contains("text: not a ledger; name another file"));
    CHECK_THROWS_WITH(Ledger{host.folder.path("no/folder")}, Catch::Contains("no/folder: cannot be made: "));
    std::filesystem::create_symlink(host.folder.path("text"), host.folder.path("link"));
    CHECK_THROWS_WITH(Ledger{host.folder.path("link")}, Catch::Contains("link: cannot be opened: "));
    Ledger ledger = host.ledger();
    for (std::size_t trial = 0; trial < Ledger::max_entries; ++trial) {
        REQUIRE(ask(ledger, static_cast<std::int64_t>(trial), 0) == Answer::granted);
    }
    CHECK_THROWS_WITH(ask(ledger, -1, 0), Catch::Contains("512 attempts are on this device already"));
}

TEST_CASE("a reservation can be raised if nobody waits") {
    const Host host;
    Ledger ledger = host.ledger();
    const auto raise = [&](std::int64_t trial, std::int64_t bytes) {
        return ledger.raise({.trial = trial, .bytes = bytes, .budget_bytes = budget});
    };
    CHECK_FALSE(raise(0, 10));  // nothing was asked
    REQUIRE(ask(ledger, 0, 400) == Answer::granted);
    CHECK(raise(0, 500));
    CHECK_FALSE(raise(0, 450));
    CHECK_FALSE(raise(0, 1001));
    REQUIRE(ask(ledger, 1, 400) == Answer::granted);
    CHECK_FALSE(raise(0, 601));
    CHECK(raise(0, 600));
    ledger.give_back(1);
    REQUIRE(ask(ledger, 2, 500) == Answer::waits);
    CHECK_FALSE(raise(0, 601));
    CHECK_FALSE(raise(2, 600));  // it has nothing yet
}
