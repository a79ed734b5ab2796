// SPDX-License-Identifier: MIT
#include "hpo/core/plan.hpp"

#include <cstdlib>

#include "core/python_plan.hpp"
#include "hpo/core/plan_text.hpp"
#include "hpo/testing/sample_trial.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

using namespace hpo;
using hpo::test::read_file;

TEST_CASE("the page of levers names each lever") {
    const std::string source = HPO_SOURCE_DIR;
    const std::string page = read_file(source + "/docs/levers.md");
    each_plan_field([&](const auto& field) {
        const std::string key{field.key};
        CAPTURE(key);
        if (field.role == PlanRole::lever) CHECK(page.find("`" + key) != std::string::npos);
    });
}

TEST_CASE("Python's plan has each member of the plan that a program sees") {
    const std::string file = std::string{HPO_SOURCE_DIR} + "/python/hpo/_trial/_plan.py";
    if (std::getenv("HPO_UPDATE_EXPECTED")) hpo::test::write_file(file, hpo::test::python_plan());
    CHECK(read_file(file) == hpo::test::python_plan());
}

TEST_CASE("two plans have the same levers if only batches, device and cap differ") {
    const ExecutionPlan plan;
    CHECK(same_levers(plan, {.effective_batch = 64, .micro_batch = 16, .device = "cuda:1", .cap_bytes = 1 << 20}));
    CHECK_FALSE(same_levers(plan, {.activation_checkpointing = true}));
    CHECK_FALSE(same_levers(plan, {.precision = Precision::bf16}));
    CHECK_FALSE(same_levers(plan, {.expandable_segments = true}));
    CHECK_FALSE(same_levers(plan, {.allocator_settings = "max_split_size_mb:64"}));
}

TEST_CASE("the sample attempt differs from a default plan in every member") {
    const ExecutionPlan plain;
    const ExecutionPlan sample = testing::sample_attempt(0).plan;
    each_plan_field([&](const auto& field) { CHECK(sample.*field.member != plain.*field.member); });
}

TEST_CASE("members of a plan are told in words") {
    const auto words = [](const ExecutionPlan& plan) {
        std::string text;
        each_plan_field([&](const auto& field) { text += "[" + plan_words(field, plan.*field.member) + "]"; });
        return text;
    };
    CHECK(words({}) == "[][][][precision fp32][][][device cpu][]");
    CHECK(words({.effective_batch = 64,
                 .micro_batch = 16,
                 .activation_checkpointing = true,
                 .precision = Precision::bf16,
                 .expandable_segments = true,
                 .allocator_settings = "max_split_size_mb:64",
                 .device = "cuda:1",
                 .cap_bytes = 1 << 20}) ==
          "[effective batch 64][micro-batch 16][activation checkpointing][precision bf16][expandable segments]"
          "[allocator settings max_split_size_mb:64][device cuda:1][cap 1.00 MiB]");
}

TEST_CASE("each lever of a plan can be set by its text, and nothing else") {
    ExecutionPlan plan;
    for (const char* const assignment : {"micro_batch=8", "activation_checkpointing=true", "precision=bf16", "expandable_segments=1",
                                         "allocator_settings=max_split_size_mb:64", "cap_bytes=600MiB"})
        set_lever(plan, "--plan", assignment);
    const ExecutionPlan wanted{.micro_batch = 8,
                               .activation_checkpointing = true,
                               .precision = Precision::bf16,
                               .expandable_segments = true,
                               .allocator_settings = "max_split_size_mb:64",
                               .cap_bytes = std::int64_t{600} << 20U};
    CHECK(plan == wanted);
    set_lever(plan, "--plan", "precision=fp32");
    CHECK(plan.precision == Precision::fp32);
    CHECK(lever_keys().size() == 6);
    CHECK_THROWS_WITH(set_lever(plan, "--plan", "micro_batch"), "--plan: got 'micro_batch'; expected KEY=VALUE");
    CHECK_THROWS_WITH(set_lever(plan, "--plan", "micro_batch=0"), "--plan micro_batch: got '0'; expected a whole number of at least 1");
    CHECK_THROWS_WITH(set_lever(plan, "--plan", "micro_batch=8x"), "--plan micro_batch: got '8x'; expected a whole number of at least 1");
    CHECK_THROWS_WITH(set_lever(plan, "--plan", "precision=int4"), "--plan precision: got 'int4'; expected one of fp32, bf16, fp16");
    for (const char* const assignment : {"device=cuda", "effective_batch=3"})
        CHECK_THROWS_WITH(set_lever(plan, "--plan", assignment), Catch::Contains("--plan: unknown lever '"));
}
