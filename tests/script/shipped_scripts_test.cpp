// SPDX-License-Identifier: MIT
#include <filesystem>
#include <set>
#include <string>

#include "hpo/script/study_reader.hpp"
#include "hpo/script/study_script.hpp"
#include "hpo/space/count.hpp"
#include "support/catch.hpp"

namespace {

const std::filesystem::path folder = std::filesystem::path{HPO_SOURCE_DIR} / "scripts" / "lua";

hpo::script::StudyScript shipped(const char* file, std::map<std::string, std::string, std::less<>> set = {}) {
    return hpo::script::StudyScript::load(folder / file, {.set = std::move(set)});
}

}  // namespace

TEST_CASE("every script that ships loads and can be counted") {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator{folder}) {
        CAPTURE(entry.path().string());
        if (entry.is_directory()) continue;  // files that scripts require
        REQUIRE(entry.path().extension() == ".lua");
        const auto script = hpo::script::StudyScript::load(entry.path());
        CHECK(hpo::count(script.space()).combinations >= 1);
        CHECK_FALSE(script.description().trainer.empty());
        for (const auto& option : script.description().options) CHECK_FALSE(option.help.empty());
        names.insert(script.description().name);
    }
    CHECK(names.size() >= 3);
}

TEST_CASE("the BERT space has 546 combinations for a base model and 108 for a large one") {
    const auto counted = hpo::count(shipped("bert_24gb.lua").space());
    CHECK(counted.exact);
    CHECK(counted.branches_by == "model.name");
    REQUIRE(counted.branches.size() == 7);
    for (std::size_t i = 0; i < 7; ++i) {
        CAPTURE(hpo::display_text(counted.branches[i].value));
        CHECK(counted.branches[i].combinations == (i < 3 ? 546 : 108));
    }
    CHECK(counted.combinations == 3 * 546 + 4 * 108);
    CHECK(counted.continuous == std::vector<std::string>{"optim.lr", "optim.weight_decay", "train.dropout"});
}

TEST_CASE("the BERT study names the folder of models, and data only where a person names them") {
    const auto counted = shipped("bert_24gb.lua").description().trainer_options;  // a copy: the script is gone after this line
    CHECK(counted.contains("models"));
    CHECK_FALSE(counted.contains("data"));
    const auto named = shipped("bert_24gb.lua", {{"models", "/models"}, {"data", "texts.tsv"}});
    CHECK(named.description().trainer_options.at("models") == hpo::Value{std::string{"/models"}});
    CHECK(named.description().trainer_options.at("data") == hpo::Value{std::string{"texts.tsv"}});
}

TEST_CASE("with the effective batch as the parameter all BERT models have the same 17 x 13") {
    const auto script = shipped("bert_24gb.lua", {{"limits", "effective"}});
    const auto counted = hpo::count(script.space(), {.by = "model.name"});
    REQUIRE(counted.branches.size() == 7);
    for (const auto& branch : counted.branches) CHECK(branch.combinations == 17 * 13);
    CHECK(hpo::count(script.space()).branches_by.empty());
    CHECK_THROWS_WITH(shipped("bert_24gb.lua", {{"limits", "none"}}), Catch::Contains("limits: got 'none'; expected narrow or effective"));
}

TEST_CASE("the Fashion-MNIST study pins what its demonstration needs") {
    const auto script = shipped("fashion_mnist.lua");
    const auto& study = script.description();
    CHECK(study.name == "fashion_mnist");
    CHECK(study.trainer == "image_classifier");
    REQUIRE(study.objectives.size() == 1);
    CHECK(study.objectives[0].metric == "accuracy");
    CHECK(study.objectives[0].direction == hpo::Direction::maximize);
    CHECK(study.guard == "unlimited");
    CHECK(study.recovery == "shrink_micro_batch");
    CHECK(study.run_options.contains("device-memory"));
    const auto counted = hpo::count(script.space());
    CHECK(counted.exact);
    CHECK(counted.branches_by == "model.kind");
    REQUIRE(counted.branches.size() == 3);
    CHECK(counted.branches[0].combinations == 8 * 3 * 6 * 2);
    CHECK(counted.branches[1].combinations == 4 * 3 * 6 * 2);
    CHECK(counted.branches[2].combinations == 3 * 2 * 6 * 2);
    CHECK(counted.branches[2].refused == 2 * 6 * 2);
}

TEST_CASE("the memory-safe presets begin small and hold their space") {
    const auto plan_of = [](const char* file) { return shipped(file).description().plan; };
    const auto combinations = [](const char* file) { return hpo::count(shipped(file).space()).combinations; };
    CHECK(combinations("memory_safe_base.lua") == 7 * 6 * (1 + 3 * 3) * 2);
    CHECK(combinations("memory_safe_large.lua") == 9 * 4 * 2 * (1 + 3) * 2);
    CHECK(combinations("memory_safe_deberta.lua") == 3 * 4 * (1 + 2 * 3) * 2 * 2);
    CHECK(plan_of("memory_safe_base.lua") == hpo::ExecutionPlan{.micro_batch = 32});
    CHECK(plan_of("memory_safe_large.lua") == hpo::ExecutionPlan{.micro_batch = 8, .activation_checkpointing = true});
    CHECK(plan_of("memory_safe_deberta.lua") == hpo::ExecutionPlan{.micro_batch = 16, .activation_checkpointing = true});
}

TEST_CASE("the studies of Debian's sections fix their trainer's data and search the same lengths") {
    for (const char* file : {"text_sections.lua", "minilm_sections.lua"}) {
        CAPTURE(file);
        const auto script = shipped(file, {{"metric", "macro_f1"}, {"train_examples", "100"}});
        const auto& study = script.description();
        CHECK(study.trainer == "text_classifier");
        REQUIRE(study.objectives.size() == 1);
        CHECK(study.objectives[0].metric == "macro_f1");
        CHECK(study.objectives[0].direction == hpo::Direction::maximize);
        CHECK(study.trainer_options.at("train_examples") == hpo::Value{std::int64_t{100}});
        CHECK(study.trainer_options.contains("model") == (file == std::string{"minilm_sections.lua"}));
        const auto counted = hpo::count(script.space(), {.by = "tok.max_length"});
        CHECK(counted.exact);
        CHECK(counted.branches.size() == 3);
    }
    const auto counted = hpo::count(shipped("text_sections.lua").space());
    // Layers and widths: 3 of 4 layers go with 256 only up to 2, so 4 + 4 + 2 of the 12 pairs.
    CHECK(counted.combinations == 10 * 2 * 3 * 3 * 3 * 2 * 2 * 4);
    const auto tunings = hpo::count(shipped("minilm_sections.lua").space(), {.by = "train.tuning"});
    REQUIRE(tunings.branches.size() == 3);
    CHECK(tunings.branches[0].combinations == 3 * 3 * 2 * 2 * 3);
    CHECK(tunings.branches[1].combinations == 3 * 4 * 2 * 2 * 2 * 3);
    CHECK(tunings.branches[2].combinations == 3 * 2 * 2 * 3);
}
