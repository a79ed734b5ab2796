// SPDX-License-Identifier: MIT
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "hpo/store/snapshot.hpp"
#include "support/catch.hpp"
#include "support/command.hpp"
#include "tools/images_study.hpp"

#ifdef HPO_HAS_IMAGE_CLASSIFIER

using namespace hpo::test;
using Catch::Contains;

namespace {

const std::string script =
    images_study("  on_failure = function(trial, failure, plan) return hpo.retry { reason = \"its worker was killed\" } end,\n");

/// The process with this parent that runs hpo-worker; 0: none.
pid_t worker_of(pid_t parent) {
    for (const auto& task : std::filesystem::directory_iterator{"/proc/" + std::to_string(parent) + "/task"}) {
        std::ifstream children{task.path() / "children"};
        for (pid_t pid = 0; children >> pid;) {
            if (read_file("/proc/" + std::to_string(pid) + "/cmdline").find("--trainer") != std::string::npos) return pid;
        }
    }
    return 0;
}

hpo::Trial only_trial(const Workshop& workshop) {
    hpo::store::Snapshot snapshot{workshop.path("hpo.db").string()};
    return snapshot.trials(snapshot.studies().at(0)).at(0);
}

}  // namespace

TEST_CASE("a training whose worker is killed goes on from its checkpoint and ends with the same weights, metrics and reports") {
    const Workshop undisturbed;
    undisturbed.write("images.lua", script);
    const auto whole = run_command(undisturbed, {tool("hpo-tune"), "run", "images.lua", "--progress", "none"});
    INFO(whole.error);
    REQUIRE(whole.status == 0);

    const Workshop workshop;
    workshop.write("images.lua", script);
    const pid_t pid = start_command(workshop, {tool("hpo-tune"), "run", "images.lua", "--progress", "plain"});
    int kills = 0;
    for (const int epoch : {2, 5}) {  // once it has kept this checkpoint, in the middle of the next epoch
        const auto checkpoint = workshop.path("hpo.db.checkpoints/study-1/trial-0/step-" + std::to_string(epoch));
        CHECK(eventually([&] { return std::filesystem::exists(checkpoint); }));
        if (const pid_t worker = worker_of(pid); worker > 0 && ::kill(worker, SIGKILL) == 0) ++kills;
    }
    const auto result = finish_command(workshop, pid);
    INFO(result.error);
    REQUIRE(result.status == 0);
    REQUIRE(kills == 2);

    const hpo::Trial expected = only_trial(undisturbed);
    const hpo::Trial trial = only_trial(workshop);
    REQUIRE(trial.attempts.size() == 3);
    CHECK(trial.attempts[1].resumed_step.value_or(0) >= 1);
    CHECK(trial.attempts[2].resumed_step.value_or(0) > trial.attempts[1].resumed_step.value_or(0));
    CHECK(trial.values == expected.values);
    CHECK(trial.intermediate == expected.intermediate);
    for (const char* metric : {"accuracy", "macro_f1", "loss", "data_hash"})
        CHECK(trial.user_attributes.at(metric) == expected.user_attributes.at(metric));
    const std::string weights = read_file(workshop.path("model/model.safetensors"));
    CHECK(weights.size() > 1000);
    CHECK((weights == read_file(undisturbed.path("model/model.safetensors"))));
    CHECK_FALSE(std::filesystem::exists(workshop.path("hpo.db.checkpoints")));

    const auto measured = run_command(workshop, {tool("hpo-tune"), "evaluate", "model"});
    INFO(measured.error);
    CHECK(measured.status == 0);
    CHECK_THAT(measured.out, Contains("accuracy") && Contains("data: the same"));
}

#endif
