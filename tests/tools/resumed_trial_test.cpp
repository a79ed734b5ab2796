// SPDX-License-Identifier: MIT
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <tuple>

#include "hpo/store/retries.hpp"
#include "hpo/store/snapshot.hpp"
#include "support/catch.hpp"
#include "support/command.hpp"
#include "tools/images_study.hpp"

using namespace hpo::test;
using Catch::Contains;

namespace {

/// A trial tells steps 0 to 3, keeps checkpoints after 0 and 2, and ends once there is a file `go`.
const std::string waiting = R"(
local hpo = require "hpo"
local low = hpo.option("low", 0.0, "the least x")
return hpo.study {
  name = "waiting", trainer = { "fault", fault = "wait_for_go", steps = 4, limit = hpo.option("limit", 8, "of nothing here") },
  objective = { metric = "value", direction = "minimize" },
  sampler = "random", pruner = "none", recovery = "fail", trials = 2, workers = 1,
  space = function(trial) trial:float("x", low, low + 1) end,
}
)";

struct Study {
    Workshop workshop;
    std::string store = workshop.path("hpo.db").string();

    Study() { workshop.write("waiting.lua", waiting); }

    [[nodiscard]] pid_t start(std::vector<std::string> more = {}) const {
        std::vector<std::string> words{tool("hpo-tune"), "run",  "waiting.lua", "--plugin-dir", HPO_BINARY_DIR "/tests/trainers",
                                       "--progress",     "plain"};
        words.insert(words.end(), more.begin(), more.end());
        return start_command(workshop, words);
    }
    CommandResult run(std::vector<std::string> more = {}) const { return finish_command(workshop, start(std::move(more))); }
    [[nodiscard]] std::vector<hpo::Trial> trials() const {
        if (!std::filesystem::exists(store)) return {};
        hpo::store::Snapshot snapshot{store};
        const auto studies = snapshot.studies();
        return studies.empty() ? std::vector<hpo::Trial>{} : snapshot.trials(studies.at(0));
    }
    /// True once the last of so many trials has told all that it tells.
    [[nodiscard]] bool waits(std::size_t trial_count) const {
        return eventually([&] {
            const auto now = trials();
            return now.size() == trial_count && now.back().intermediate.contains(3);
        });
    }
    /// Ends the study by a signal while its trial number `trial_count` - 1 waits.
    CommandResult end_by(int signal, std::size_t trial_count, std::vector<std::string> more = {}) const {
        const pid_t pid = start(std::move(more));
        const bool came_so_far = waits(trial_count);
        kill(pid, signal);
        auto result = finish_command(workshop, pid);
        INFO(result.error);
        REQUIRE(came_so_far);
        return result;
    }
    void go() const { workshop.write("go", ""); }
    [[nodiscard]] std::filesystem::path checkpoints(const std::string& name) const {
        return workshop.path("hpo.db.checkpoints/study-1") / name;
    }
};

std::size_t done(const std::vector<hpo::Trial>& trials) {
    return static_cast<std::size_t>(std::count_if(trials.begin(), trials.end(), hpo::counts_as_done));
}

/// The same as a trial that nobody interrupted.
void check_same(const hpo::Trial& trial, const hpo::Trial& undisturbed) {
    CHECK(trial.state == hpo::TrialState::complete);
    CHECK(trial.params == undisturbed.params);
    CHECK(trial.values == undisturbed.values);
    CHECK(trial.intermediate == undisturbed.intermediate);
    CHECK(trial.user_attributes.at("seed") == undisturbed.user_attributes.at("seed"));
    CHECK_FALSE(trial.user_attributes.contains("lost"));
}

hpo::Trial undisturbed() {
    const Study study;
    study.go();
    const auto result = study.run();
    INFO(result.error);
    REQUIRE(result.status == 0);
    return study.trials().at(0);
}

}  // namespace

TEST_CASE("a trial whose supervisor is killed goes on from its checkpoint as another trial in the next run") {
    const Study study;
    (void)study.end_by(SIGKILL, 1);
    CHECK(std::filesystem::exists(study.checkpoints("trial-0")));
    study.go();
    const auto result = study.run();
    INFO(result.error);
    REQUIRE(result.status == 0);
    CHECK_THAT(result.error, Contains("trial 1: goes on with trial 0, which was interrupted, after step 2\n"));
    CHECK_THAT(run_command(study.workshop, {tool("hpo-analyze"), "trial", "1"}).out,
               Contains("  goes on with trial 0, which was interrupted, after step 2\n"));
    const auto trials = study.trials();
    REQUIRE(trials.size() == 3);
    CHECK(done(trials) == 2);
    CHECK(trials[0].state == hpo::TrialState::fail);
    CHECK(trials[0].user_attributes.contains("lost"));
    CHECK(trials[0].attempts.at(0).checkpoint_step == 2);
    check_same(trials[1], undisturbed());
    CHECK(trials[1].system_attributes.at("failed_trial") == "0");
    CHECK(trials[1].system_attributes.at("retry_history") == "[0]");
    REQUIRE(trials[1].attempts.size() == 1);
    CHECK(trials[1].attempts[0].resumed_step == 2);
    CHECK(trials[1].attempts[0].plan == trials[0].attempts[0].plan);
    CHECK(hpo::retry_history(trials[2]).empty());
    CHECK_FALSE(trials[2].params == trials[0].params);
    CHECK_FALSE(std::filesystem::exists(study.workshop.path("hpo.db.checkpoints")));
}

TEST_CASE("a trial that is interrupted twice goes on twice, and counts once") {
    const Study study;
    for (const std::size_t trial_count : {1, 2}) {
        const auto result = study.end_by(SIGTERM, trial_count);
        CHECK(result.status == 130);
        CHECK(std::filesystem::exists(study.checkpoints("trial-" + std::to_string(trial_count - 1))));
    }
    CHECK_FALSE(std::filesystem::exists(study.checkpoints("trial-0")));
    study.go();
    REQUIRE(study.run().status == 0);
    const auto trials = study.trials();
    REQUIRE(trials.size() == 4);
    CHECK(done(trials) == 2);
    check_same(trials[2], undisturbed());
    CHECK(trials[2].system_attributes.at("failed_trial") == "0");
    CHECK(trials[2].system_attributes.at("retry_history") == "[0, 1]");
    CHECK_FALSE(std::filesystem::exists(study.workshop.path("hpo.db.checkpoints")));
}

TEST_CASE("of two runs that begin at once, one goes on with the lost trial") {
    const Study study;
    (void)study.end_by(SIGKILL, 1, {"--trials", "3"});
    study.go();
    const pid_t first = study.start({"--trials", "3"});
    const Workshop elsewhere;
    const pid_t second = start_command(elsewhere, {tool("hpo-tune"), "run", study.workshop.file("waiting.lua"), "--store", study.store,
                                                   "--plugin-dir", HPO_BINARY_DIR "/tests/trainers", "--trials", "3"});
    elsewhere.write("go", "");
    CHECK(finish_command(study.workshop, first).status == 0);
    CHECK(finish_command(elsewhere, second).status == 0);
    const auto trials = study.trials();
    CHECK(trials.size() == 4);
    CHECK(done(trials) == 3);
    CHECK(std::count_if(trials.begin(), trials.end(), [](const auto& trial) { return !hpo::retry_history(trial).empty(); }) == 1);
    CHECK(std::count_if(trials.begin(), trials.end(), [&](const auto& trial) { return trial.params == trials[0].params; }) == 2);
}

TEST_CASE("a lost trial is left alone where the space or a fixed value is another now, and the reason is told") {
    const Study study;
    (void)study.end_by(SIGTERM, 1);
    study.go();
    std::vector<std::string> changed;
    std::string why;
    SECTION("the space") {
        changed = {"--set", "low=2.0"};
        why = "the space has changed: waiting.lua:8: ";
    }
    SECTION("a fixed parameter") {
        changed = {"--fix", "x=0.25"};
        why = "'x' is fixed at 0.25 now, and ";
    }
    const auto result = study.run(changed);
    INFO(result.error);
    CHECK(result.status == 0);
    CHECK_THAT(result.error, Contains("hpo-tune: note: trial 0, which was interrupted, is not run again: ") && Contains(why));
    const auto trials = study.trials();
    CHECK(trials.size() == 3);
    CHECK(done(trials) == 2);
    for (const auto& trial : trials) CHECK(hpo::retry_history(trial).empty());
    CHECK_FALSE(std::filesystem::exists(study.workshop.path("hpo.db.checkpoints")));
}

TEST_CASE("a lost trial runs again from its beginning where seed, options or data are others now, and the reason is told") {
    const Study study;
    (void)study.end_by(SIGTERM, 1);
    study.go();
    std::vector<std::string> changed;
    std::string why;
    SECTION("an option of the trainer") {
        changed = {"--set", "limit=9", "--accept-changed-options"};
        why = "option limit is 9 now and was 8\n";
    }
    SECTION("the seed") {
        changed = {"--seed", "7"};
        why = "seed is 7 now and was 0\n";
    }
    SECTION("who wrote it") {
        std::filesystem::remove(study.checkpoints("trial-0.json"));
        why = "does not say under which settings its checkpoints were made\n";
    }
    const auto result = study.run(changed);
    INFO(result.error);
    CHECK(result.status == 0);
    CHECK_THAT(result.error,
               Contains("hpo-tune: note: trial 0, which was interrupted, does not go on from its checkpoint: ") && Contains(why));
    const auto trials = study.trials();
    REQUIRE(trials.size() == 3);
    CHECK(done(trials) == 2);
    CHECK(trials[1].system_attributes.at("retry_history") == "[0]");
    CHECK(trials[1].params == trials[0].params);
    REQUIRE(trials[1].attempts.size() == 1);
    CHECK_FALSE(trials[1].attempts[0].resumed_step);
    CHECK(trials[1].intermediate.size() == 4);
    CHECK_FALSE(std::filesystem::exists(study.workshop.path("hpo.db.checkpoints")));
}

TEST_CASE("from a damaged checkpoint a lost trial begins anew, with the same parameters") {
    const Study study;
    (void)study.end_by(SIGKILL, 1);
    write_file(study.checkpoints("trial-0/step"), "9");
    study.go();
    const auto result = study.run();
    INFO(result.error);
    CHECK(result.status == 0);
    const auto trials = study.trials();
    REQUIRE(trials.size() == 3);
    check_same(trials[1], undisturbed());
    REQUIRE(trials[1].attempts.size() == 2);
    CHECK(trials[1].attempts[0].failure->message == "the checkpoint is of step 9");
    CHECK(trials[1].attempts[0].decision == "cannot go on from the checkpoint of step 2: begun again at step 0");
    CHECK_FALSE(trials[1].attempts[1].resumed_step);
}

TEST_CASE("a lost trial whose checkpoints are gone runs again from its beginning") {
    const Study study;
    (void)study.end_by(SIGKILL, 1);
    std::filesystem::remove_all(study.workshop.path("hpo.db.checkpoints"));
    study.go();
    const auto result = study.run();
    CHECK(result.status == 0);
    CHECK_THAT(result.error, !Contains("note:") && Contains("trial 1: runs trial 0 again, which was interrupted\n"));
    CHECK_THAT(run_command(study.workshop, {tool("hpo-analyze"), "trial", "1"}).out,
               Contains("  runs trial 0 again, which was interrupted\n"));
    const auto trials = study.trials();
    REQUIRE(trials.size() == 3);
    check_same(trials[1], undisturbed());
    CHECK_FALSE(trials[1].attempts.at(0).resumed_step);
}

TEST_CASE("trials of a trainer without checkpoints run again under their parameters, each once, whoever goes on") {
    const Workshop workshop;
    workshop.write("bowl.lua", R"(
local hpo = require "hpo"
return hpo.study {
  name = "bowl", trainer = { "quadratic", steps = 1, sleep_ms = hpo.option("sleep_ms", 20, "pause") },
  objective = { metric = "value", direction = "minimize" },
  sampler = "random", pruner = "none", recovery = "fail", trials = 6, workers = 3,
  space = function(trial) trial:float("x", -5, 5) end,
}
)");
    const std::string store = workshop.path("hpo.db").string();
    const auto words = [&](const std::string& pause) {
        return std::vector<std::string>{tool("hpo-tune"), "run",   "bowl.lua", "--store",           store,
                                        "--progress",     "plain", "--set",    "sleep_ms=" + pause, "--accept-changed-options"};
    };
    const auto trials = [&] {
        if (!std::filesystem::exists(store)) return std::vector<hpo::Trial>{};
        hpo::store::Snapshot snapshot{store};
        const auto studies = snapshot.studies();
        return studies.empty() ? std::vector<hpo::Trial>{} : snapshot.trials(studies.at(0));
    };
    const pid_t pid = start_command(workshop, words("3600000"));
    CHECK(eventually([&] {
        const auto now = trials();
        return now.size() == 3 && std::all_of(now.begin(), now.end(), [](const auto& trial) { return !trial.attempts.empty(); });
    }));
    kill(pid, SIGKILL);
    (void)finish_command(workshop, pid);

    const Workshop elsewhere;
    elsewhere.write("bowl.lua", read_file(workshop.path("bowl.lua")));
    const pid_t first = start_command(workshop, words("20"));
    const pid_t second = start_command(elsewhere, words("20"));
    const auto a = finish_command(workshop, first);
    const auto b = finish_command(elsewhere, second);
    INFO(a.error << b.error);
    CHECK(a.status == 0);
    CHECK(b.status == 0);
    const auto after = trials();
    CHECK(done(after) == 6);
    CHECK(after.size() == 9);
    for (std::size_t lost = 0; lost < 3; ++lost) {
        CHECK(after[lost].user_attributes.contains("lost"));
        std::size_t times = 0;
        for (const auto& trial : after) {
            if (hpo::retry_history(trial) != std::vector<std::int64_t>{static_cast<std::int64_t>(lost)}) continue;
            ++times;
            CHECK(trial.params == after[lost].params);
            CHECK(trial.state == hpo::TrialState::complete);
        }
        CHECK(times == 1);
    }
}

#ifdef HPO_HAS_IMAGE_CLASSIFIER

namespace {

const std::string images = images_study();

std::vector<hpo::Trial> trials_of(const Workshop& workshop) {
    hpo::store::Snapshot snapshot{workshop.path("hpo.db").string()};
    return snapshot.trials(snapshot.studies().at(0));
}

}  // namespace

TEST_CASE("a training whose study is killed and interrupted ends with the bits of one that was not") {
    const Workshop undisturbed;
    undisturbed.write("images.lua", images);
    const std::vector<std::string> command{tool("hpo-tune"), "run", "images.lua", "--progress", "plain"};
    const auto whole = run_command(undisturbed, command);
    INFO(whole.error);
    REQUIRE(whole.status == 0);

    const Workshop workshop;
    workshop.write("images.lua", images);
    for (const auto& [signal, trial, epoch] : {std::tuple{SIGKILL, 0, 2}, std::tuple{SIGTERM, 1, 5}}) {
        const pid_t pid = start_command(workshop, command);
        const auto checkpoint =
            workshop.path("hpo.db.checkpoints/study-1/trial-" + std::to_string(trial) + "/step-" + std::to_string(epoch));
        CHECK(eventually([&] { return std::filesystem::exists(checkpoint); }));
        kill(pid, signal);
        (void)finish_command(workshop, pid);
    }
    const auto result = run_command(workshop, command);
    INFO(result.error);
    REQUIRE(result.status == 0);

    const auto trials = trials_of(workshop);
    REQUIRE(trials.size() == 3);
    const hpo::Trial expected = trials_of(undisturbed).at(0);
    CHECK(trials[1].attempts.at(0).resumed_step.value_or(0) >= 1);
    CHECK(trials[2].attempts.at(0).resumed_step.value_or(0) > trials[1].attempts[0].resumed_step.value_or(0));
    CHECK(trials[2].attempts.size() == 1);
    CHECK(trials[2].values == expected.values);
    CHECK(trials[2].intermediate == expected.intermediate);
    for (const char* metric : {"accuracy", "macro_f1", "loss", "data_hash"})
        CHECK(trials[2].user_attributes.at(metric) == expected.user_attributes.at(metric));
    const std::string weights = read_file(workshop.path("model/model.safetensors"));
    CHECK(weights.size() > 1000);
    CHECK((weights == read_file(undisturbed.path("model/model.safetensors"))));
    CHECK_FALSE(std::filesystem::exists(workshop.path("hpo.db.checkpoints")));
}

#endif
