// SPDX-License-Identifier: MIT
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "hpo/store/sqlite.hpp"
#include "support/catch.hpp"
#include "support/command.hpp"

using namespace hpo::test;
using Catch::Contains;

namespace {

const std::string slow_bowl = R"(
local hpo = require "hpo"
return hpo.study {
  name = "bowl", trainer = { "quadratic", steps = 2, sleep_ms = hpo.option("sleep_ms", 60, "pause before each report") },
  objective = { metric = "value", direction = "minimize" },
  sampler = "random", pruner = "none", recovery = "fail", trials = 24, workers = 3,
  space = function(trial) trial:float("x", -5, 5) end,
}
)";

/// Two folders for what two commands write; both run the study of the first's store.
struct Pair {
    Workshop first, second;
    std::string store = first.path("hpo.db").string();

    [[nodiscard]] pid_t start(const Workshop& in, std::vector<std::string> more = {}) const {
        in.write("bowl.lua", slow_bowl);
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

bool wait_for(const Workshop& workshop, const std::string& words) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{60};
    while (read_file(workshop.path(".error")).find(words) == std::string::npos) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    return true;
}

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
    REQUIRE(wait_for(pair.first, "\ntrial "));
    const pid_t b = pair.start(pair.second);
    REQUIRE(wait_for(pair.second, "\ntrial "));
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
    REQUIRE(wait_for(pair.first, "trial 2: "));
    const pid_t b = pair.start(pair.second, {"--trials", "3"});
    const bool waits = wait_for(pair.second, "waiting for 3 trials that another process runs");
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
