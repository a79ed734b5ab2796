// SPDX-License-Identifier: MIT
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "hpo/device/ledger.hpp"
#include "hpo/store/sqlite.hpp"
#include "support/catch.hpp"
#include "support/command.hpp"
#include "tools/slow_bowl.hpp"

using namespace hpo::test;
using Catch::Contains;

namespace {

const std::string script = slow_bowl({.trials = 24, .workers = 3, .sleep_ms = 60});

/// Two folders for what two commands write; both run the study of the first's store.
struct Pair {
    Workshop first, second;
    std::string store = first.path("hpo.db").string();

    [[nodiscard]] pid_t start(const Workshop& in, std::vector<std::string> more = {}) const {
        in.write("bowl.lua", script);
        std::vector<std::string> words{tool("hpo-tune"), "run", "bowl.lua", "--store", store, "--progress", "plain"};
        words.insert(words.end(), more.begin(), more.end());
        return start_command(in, words);
    }
    [[nodiscard]] std::vector<hpo::Trial> trials() const {
        hpo::store::Sqlite opened{store};
        std::vector<hpo::Trial> trials;
        opened.refresh(opened.open_study("bowl", std::vector{hpo::Direction::minimize}, hpo::Store::Open::resume).id, trials);
        return trials;
    }
};

}  // namespace

TEST_CASE("two processes at one study make the asked number of trials together, not one more") {
    const Pair pair;
    const pid_t a = pair.start(pair.first);
    const pid_t b = pair.start(pair.second);
    const auto first = finish_command(pair.first, a);
    const auto second = finish_command(pair.second, b);
    INFO(first.error << second.error);
    CHECK(first.status == 0);
    CHECK(second.status == 0);
    const auto trials = pair.trials();
    CHECK(trials.size() == 24);
    CHECK(std::all_of(trials.begin(), trials.end(), hpo::counts_as_done));
    CHECK_THAT(first.out, Contains("24 complete"));
    CHECK_THAT(second.out, Contains("24 complete"));
    CHECK_THAT(first.error, Contains("trial "));
    CHECK_THAT(second.error, Contains("trial "));
}

TEST_CASE("when one of two processes is killed, the other makes up for the trials that were lost") {
    const Pair pair;
    const pid_t a = pair.start(pair.first);
    REQUIRE(has_said(pair.first, "\ntrial "));
    const pid_t b = pair.start(pair.second);
    REQUIRE(has_said(pair.second, "\ntrial "));
    kill(a, SIGKILL);
    (void)finish_command(pair.first, a);
    const auto survivor = finish_command(pair.second, b);
    INFO(survivor.error);
    CHECK(survivor.status == 0);
    const auto trials = pair.trials();
    const auto done = std::count_if(trials.begin(), trials.end(), hpo::counts_as_done);
    CHECK(done == 24);
    CHECK(trials.size() > 24);       // it was killed while it ran some
    CHECK(trials.size() <= 24 + 3);  // as many as it had workers
    for (const auto& trial : trials) CHECK(hpo::is_finished(trial.state));
}

TEST_CASE("a process waits for what another runs, and takes over when that one is killed") {
    const Pair pair;
    // The first one's trials take a minute; they are all that is missing.
    const pid_t a = pair.start(pair.first, {"--trials", "3", "--set", "sleep_ms=30000"});
    REQUIRE(has_said(pair.first, "trial 2: "));
    const pid_t b = pair.start(pair.second, {"--trials", "3", "--accept-changed-options"});
    const bool waits = has_said(pair.second, "waiting for 3 trials that another process runs");
    kill(a, SIGKILL);
    (void)finish_command(pair.first, a);
    const auto survivor = finish_command(pair.second, b);
    INFO(survivor.error);
    CHECK(waits);
    CHECK(survivor.status == 0);
    const auto trials = pair.trials();
    CHECK(trials.size() == 6);
    CHECK(std::count_if(trials.begin(), trials.end(), hpo::counts_as_done) == 3);
    for (const auto& trial : trials) CHECK(hpo::is_finished(trial.state));
}

namespace {

/// Attempts of half a second that need 400 kB of a device of 1 MiB: two at a time.
const std::string packed = R"(
local hpo = require "hpo"
return hpo.study {
  name = hpo.option("name", "packed", "name of the study"),
  trainer = { "fault", fault = "slow" }, objective = { metric = "value", direction = "minimize" },
  guard = "dry_run", sampler = "random", pruner = "none", recovery = "fail", trials = 8, workers = 3, device_memory = "1MiB",
  space = function(trial)
    trial:categorical("weights", { 400000 })
    trial:float("seconds", 0.4, 0.5)
  end,
}
)";

struct Shared {
    Workshop first, second;
    std::filesystem::path file = first.path("ledger");

    [[nodiscard]] pid_t start(const Workshop& in, const std::string& name) const {
        in.write("packed.lua", packed);
        return start_command(in, {tool("hpo-tune"), "run", "packed.lua", "--set", "name=" + name, "--store", in.path("hpo.db").string(),
                                  "--ledger", file.string(), "--plugin-dir", HPO_BINARY_DIR "/tests/trainers", "--progress", "plain"});
    }
};

/// What a ledger shows of two processes while they run.
struct Watch {
    std::set<std::int64_t> granted_to;
    std::int64_t most_bytes = 0;
    std::size_t most_at_once = 0;

    void look(const hpo::device::Ledger& ledger) {
        std::int64_t bytes = 0;
        std::size_t count = 0;
        for (const hpo::device::LedgerEntry& entry : ledger.entries()) {
            if (!entry.granted) continue;
            granted_to.insert(entry.pid);
            bytes += entry.bytes;
            ++count;
        }
        most_bytes = std::max(most_bytes, bytes);
        most_at_once = std::max(most_at_once, count);
    }
};

}  // namespace

TEST_CASE("two runs on one device share its ledger and never promise more than the device has") {
    const Shared shared;
    const hpo::device::Ledger ledger{shared.file};
    const pid_t a = shared.start(shared.first, "a");
    const pid_t b = shared.start(shared.second, "b");
    Watch watch;
    const auto done = [&](const Workshop& in) { return read_file(in.path(".out")).find("8 complete") != std::string::npos; };
    CHECK(eventually([&] {
        watch.look(ledger);
        return done(shared.first) && done(shared.second);
    }));
    const auto first = finish_command(shared.first, a);
    const auto second = finish_command(shared.second, b);
    INFO(first.error << second.error);
    CHECK(first.status == 0);
    CHECK(second.status == 0);
    CHECK(watch.granted_to.size() == 2);
    CHECK(watch.most_at_once == 2);
    CHECK(watch.most_bytes <= 1 << 20);
    CHECK_THAT(first.error + second.error, Contains("waits for ") && Contains("are reserved for other attempts"));
    CHECK(ledger.entries().empty());
}

TEST_CASE("a run that is killed leaves its part of the ledger to others within two seconds") {
    const Shared shared;
    hpo::device::Ledger ledger{shared.file};
    const pid_t a = shared.start(shared.first, "a");
    REQUIRE(eventually([&] { return ledger.entries().size() == 3; }));
    const auto ask = [&] { return ledger.ask({.trial = 0, .bytes = 1 << 20, .budget_bytes = 1 << 20}); };
    REQUIRE(ask() == hpo::device::Ledger::Answer::waits);
    kill(a, SIGKILL);
    const auto killed = std::chrono::steady_clock::now();
    CHECK(eventually([&] { return ask() == hpo::device::Ledger::Answer::granted; }));
    CHECK(std::chrono::steady_clock::now() - killed < std::chrono::seconds{2});
    (void)finish_command(shared.first, a);
}

TEST_CASE("a ledger that cannot be is one clear error") {
    const Shared shared;
    shared.first.write("packed.lua", packed);
    const auto run = [&](const std::string& file) {
        return run_command(shared.first, {tool("hpo-tune"), "run", "packed.lua", "--ledger", file, "--plugin-dir",
                                          HPO_BINARY_DIR "/tests/trainers", "--progress", "none"});
    };
    const auto text = run("packed.lua");
    CHECK(text.status == 4);
    CHECK_THAT(text.error, Contains("packed.lua: not a ledger; name another file"));
    CHECK_THAT(run("hpo.db").error, Contains("--ledger: got 'hpo.db', which is the store; expected another file"));
    CHECK_THAT(run("no/folder/ledger").error, Contains("no/folder/ledger: cannot be made: "));
    CHECK(run("").status == 2);
}
