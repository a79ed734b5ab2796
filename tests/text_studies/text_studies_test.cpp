// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hpo/store/snapshot.hpp"
#include "support/catch.hpp"
#include "support/command.hpp"

using namespace hpo::test;
using nlohmann::json;

namespace {

const std::string root = HPO_SOURCE_DIR;

/// The words of `hpo-tune COMMAND scripts/lua/FILE`, on few texts.
std::vector<std::string> small_study(const std::string& command, const std::string& file) {
    return {tool("hpo-tune"),
            command,
            root + "/scripts/lua/" + file,
            "--set",
            "data=" + root + "/build/data/debian_sections",
            "--set",
            "train_examples=160",
            "--set",
            "validation_examples=60",
            "--set",
            "epochs=1"};
}

std::vector<std::string> operator+(std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

std::vector<hpo::Trial> stored_trials(const Workshop& workshop) {
    hpo::store::Snapshot snapshot{workshop.path("hpo.db").string()};
    return snapshot.trials(snapshot.studies().at(0));
}

}  // namespace

TEST_CASE("a check of the study from scratch tells how unequal Debian's sections are") {
    const Workshop workshop;
    const auto checked = run_command(workshop, small_study("check", "text_sections.lua") + std::vector<std::string>{"--json"});
    INFO(checked.out + checked.error);
    REQUIRE(checked.status == 0);
    const json answer = json::parse(checked.out);
    REQUIRE(answer["remarks"].size() >= 2);
    CHECK_THAT(answer["remarks"][0].get<std::string>(), Catch::StartsWith("training: 160 texts of ") && Catch::Contains(" bits; none of "));
    CHECK_THAT(answer["remarks"][1].get<std::string>(), Catch::StartsWith("held out: 60 texts of "));
}

TEST_CASE("small encoders learn from scratch on Debian's descriptions") {
    const Workshop workshop;
    const auto run = run_command(workshop, small_study("run", "text_sections.lua") +
                                               std::vector<std::string>{"--trials", "2", "--sampler", "random", "--progress", "none"});
    INFO(run.out + run.error);
    REQUIRE(run.status == 0);
    for (const hpo::Trial& trial : stored_trials(workshop)) {
        CHECK(trial.state == hpo::TrialState::complete);
        CHECK(trial.user_attributes.contains("macro_f1"));
        CHECK(trial.user_attributes.contains("data_hash"));
    }
}

TEST_CASE("MiniLM's published weights are fine-tuned on Debian's descriptions, whole and by additions of low rank") {
    const auto peak_bytes = [](const std::string& tuning) {
        const Workshop workshop;
        const auto run = run_command(workshop, small_study("run", "minilm_sections.lua") +
                                                   std::vector<std::string>{"--set", "model=" + root + "/build/models/minilm", "--trials",
                                                                            "1", "--progress", "none", "--fix", "train.tuning=" + tuning,
                                                                            "--fix", "tok.max_length=48", "--fix", "train.batch_size=16"});
        INFO(run.out + run.error);
        REQUIRE(run.status == 0);
        const auto trials = stored_trials(workshop);
        REQUIRE(trials.size() == 1);
        REQUIRE(trials[0].state == hpo::TrialState::complete);
        return *trials[0].attempts.back().peak_allocated;
    };
    const auto full = peak_bytes("full");
    CHECK(full > 300'000'000);  // weights, gradients and AdamW's two states
    CHECK(peak_bytes("lora") < full - 200'000'000);
}
