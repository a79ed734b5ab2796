// SPDX-License-Identifier: MIT
#include "hpo/trainer/json.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "support/catch.hpp"

namespace {

using namespace hpo;
constexpr double inf = std::numeric_limits<double>::infinity();

template <class T>
T there_and_back(const T& value) {
    return decoded<T>(parse_json(json_line(encode(value)), "test"), "test");
}

/// Every member present differs from its default, so that a member that is left out of its description is noticed.
MemoryReading full_reading() {
    return {.allocated = 1,
            .reserved = 2,
            .free = 3,
            .capacity = 4,
            .limit = 5,
            .peak_allocated = 6,
            .peak_reserved = 7,
            .neighbours = {{8, 9, "python3"}}};
}
ExecutionPlan full_plan() {
    return {.effective_batch = 64,
            .micro_batch = 16,
            .activation_checkpointing = true,
            .precision = Precision::bf16,
            .expandable_segments = true,
            .allocator_settings = "max_split_size_mb:64",
            .device = "cuda:1",
            .cap_bytes = 1LL << 40};
}
Failure full_failure() {
    return {.kind = FailureKind::cuda_sticky,
            .message = "first\nsecond \"quoted\" \\ \t\x01 ü",
            .type = "c10::Error",
            .code = -710,
            .signal = 11,
            .exit_status = 3,
            .where = "backward",
            .traceback = "line",
            .memory = full_reading(),
            .requested_bytes = 1LL << 50,
            .cause = OomCause::workspace,
            .evidence = "why"};
}

}  // namespace

TEST_CASE("a plan comes back whole") {
    CHECK(there_and_back(full_plan()) == full_plan());
    CHECK(there_and_back(ExecutionPlan{}) == ExecutionPlan{});
    CHECK(encode(full_plan()).size() == 8);
}

TEST_CASE("an outcome comes back whole, with its failure and its memory") {
    AttemptOutcome sent{.kind = OutcomeKind::interrupted,
                        .values = {0.1, -0.0, 1e-310},
                        .failure = full_failure(),
                        .memory = {{.name = "oom", .seconds = 1.5, .step = 7, .reading = full_reading()}},
                        .peak_allocated = 10,
                        .peak_reserved = 11,
                        .heard_verdict = true,
                        .prune_reason = "two\nlines",
                        .approximate = true,
                        .attributes = {{"key", "{\"a\": 1}"}},
                        .constraints = {{"latency", 0.25}, {"memory of all", HUGE_VAL}},
                        .worker_pid = 4242,
                        .seconds = 0.1 + 0.2};
    const AttemptOutcome got = there_and_back(sent);
    CHECK(got.kind == sent.kind);
    CHECK(got.values == sent.values);
    CHECK(std::signbit(got.values[1]));
    CHECK(got.peak_allocated == sent.peak_allocated);
    CHECK(got.peak_reserved == sent.peak_reserved);
    CHECK(got.heard_verdict);
    CHECK(got.prune_reason == sent.prune_reason);
    CHECK(got.approximate);
    CHECK(got.attributes == sent.attributes);
    CHECK(got.worker_pid == 4242);
    CHECK(got.seconds == sent.seconds);
    REQUIRE(got.memory.size() == 1);
    CHECK(got.memory[0].name == "oom");
    CHECK(got.memory[0].seconds == 1.5);
    CHECK(got.memory[0].step == 7);
    CHECK(got.memory[0].reading == full_reading());
    REQUIRE(got.failure);
    CHECK(encode(*got.failure) == encode(*sent.failure));
    CHECK(got.failure->message == sent.failure->message);
    CHECK(got.constraints == sent.constraints);
    CHECK(encode(sent).size() == 14);
    CHECK(encode(*sent.failure).size() == 12);
    CHECK(encode(full_reading()).size() == 8);
}

TEST_CASE("every kind of failure, cause and outcome has a name that reads back") {
    for (std::size_t i = 0; i < failure_kind_names.size(); ++i) {
        const auto kind = static_cast<FailureKind>(i);
        CHECK(there_and_back(kind) == kind);
    }
    for (std::size_t i = 0; i < oom_cause_names.size(); ++i) CHECK(there_and_back(static_cast<OomCause>(i)) == static_cast<OomCause>(i));
    for (const auto kind : {OutcomeKind::complete, OutcomeKind::stopped, OutcomeKind::failed, OutcomeKind::interrupted})
        CHECK(there_and_back(kind) == kind);
}

TEST_CASE("a job comes back whole: every type of value, numbers exactly") {
    TrainerJob sent;
    sent.study = "s";
    sent.trial = 1LL << 40;
    sent.attempt = 3;
    sent.params = {{"null", Value{}},
                   {"true", true},
                   {"whole", std::int64_t{-5}},
                   {"text", std::string{"NaN"}},
                   {"third", 1.0 / 3.0},
                   {"one", 1.0},
                   {"inf", inf},
                   {"minus_inf", -inf},
                   {"tiny", 5e-324},
                   {"huge", 1.7976931348623157e308},
                   {"most", std::numeric_limits<std::int64_t>::max()}};
    sent.options = {{"least", std::numeric_limits<std::int64_t>::min()}};
    sent.metric = "f1";
    sent.objectives = {"f1", "seconds"};
    sent.plan = full_plan();
    sent.seed = std::numeric_limits<std::uint64_t>::max();
    sent.checkpoint_folder = "/tmp/here";
    sent.resume_step = 5;
    sent.metered_device = "/dev/shm/account";
    sent.model_folder = "/tmp/model";
    sent.saved_model = "/tmp/saved";
    sent.trace_file = "/tmp/trace";
    sent.cublas_workspace_bytes = 4096;
    sent.cuda_context_bytes = 8192;
    sent.settles = true;
    sent.shapes_only = true;
    const TrainerJob got = there_and_back(sent);
    CHECK(got.study == "s");
    CHECK(got.trial == sent.trial);
    CHECK(got.attempt == 3);
    CHECK(got.params == sent.params);
    CHECK(got.options == sent.options);
    CHECK(got.metric == "f1");
    CHECK(got.objectives == sent.objectives);
    CHECK(got.plan == sent.plan);
    CHECK(got.seed == sent.seed);
    CHECK(got.metered_device == sent.metered_device);
    CHECK(got.checkpoint_folder == sent.checkpoint_folder);
    CHECK(got.resume_step == 5);
    CHECK(got.model_folder == sent.model_folder);
    CHECK(got.saved_model == sent.saved_model);
    CHECK(got.trace_file == sent.trace_file);
    CHECK(got.cublas_workspace_bytes == sent.cublas_workspace_bytes);
    CHECK(got.cuda_context_bytes == sent.cuda_context_bytes);
    CHECK(got.settles);
    CHECK(got.shapes_only);
    CHECK(encode(sent).size() == 19);
    CHECK(std::isnan(std::get<double>(there_and_back(Value{std::nan("")}))));
    CHECK(encode(there_and_back(sent)) == encode(sent));
}

TEST_CASE("10,000 doubles of random bits come back with the same bits") {
    std::uint64_t state = 1;
    for (int i = 0; i < 10000; ++i) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        const double value = std::bit_cast<double>(state ^ (state >> 29U));
        const double got = there_and_back(value);
        if (std::isnan(value)) REQUIRE(std::isnan(got));
        else REQUIRE(std::bit_cast<std::uint64_t>(got) == std::bit_cast<std::uint64_t>(value));
    }
}

TEST_CASE("info, profile, problems and reports come back whole") {
    const TrainerInfo info{.name = "n",
                           .summary = "s",
                           .parameters = {{"p", "float", "(0, 1)", 0.5, "h"}, {"q", "text", "", Value{}, ""}},
                           .metrics = {{"m", Direction::minimize, "h"}},
                           .levers = {"micro_batch"},
                           .effective_batch_parameter = "b",
                           .length_parameter = "l",
                           .libtorch_version = "1.13.1",
                           .uses_cuda = true,
                           .checkpoints = true,
                           .saves_models = true,
                           .open_ended = true,
                           .peak_sources = {"dry_run"}};
    CHECK(encode(there_and_back(info)) == encode(info));
    CHECK(encode(info).size() == 13);
    CHECK(there_and_back(info).checkpoints);
    CHECK(there_and_back(info).saves_models);
    CHECK(there_and_back(info).open_ended);
    CHECK(there_and_back(info).uses_cuda);
    CHECK(there_and_back(info).parameters[0].standard == Value{0.5});
    CHECK(there_and_back(info).metrics[0].direction == Direction::minimize);
    const Profile profile{.parameters = 1,
                          .trainable_parameters = 2,
                          .weight_bytes = 3,
                          .gradient_bytes = 4,
                          .optimizer_bytes = 5,
                          .activation_fixed_bytes = 6,
                          .activation_bytes_per_example = 7};
    CHECK(encode(there_and_back(profile)) == encode(profile));
    CHECK(encode(profile).size() == 7);
    CHECK(there_and_back(std::optional<Profile>{}) == std::nullopt);
    const PeakPrediction prediction{.source = PeakSource::probe,
                                    .requested_bytes = 1,
                                    .allocated_bytes = 2,
                                    .reserved_bytes = 3,
                                    .need = 4,
                                    .comfort = 5,
                                    .parts = {{"weights", 6}},
                                    .uncertainty = 0.25,
                                    .upper_bound = true,
                                    .remark = "r"};
    CHECK(there_and_back(prediction) == prediction);
    CHECK(encode(prediction).size() == 10);
    CHECK(std::isnan(there_and_back(Report{.step = 3, .value = std::nan("")}).value));
    CHECK(there_and_back(TrainerProblem{"w", "t"}).what == "t");
}

TEST_CASE("what is not understood is refused with its place") {
    const auto read = [](const char* text) { return decoded<TrainerJob>(parse_json(text, "job"), "job"); };
    CHECK_THROWS_WITH(read("{"), "job: got '{'; expected JSON");
    CHECK_THROWS_WITH(read("[]"), "job: got []; expected an object");
    CHECK_THROWS_WITH(read(R"({"trial": 1.5})"), "job.trial: got 1.5; expected a whole number");
    CHECK_THROWS_WITH(read(R"({"seed": -1})"), "job.seed: got -1; expected a whole number of 64 bits");
    CHECK_THROWS_WITH(read(R"({"attempt": 5000000000})"), "job.attempt: got 5000000000; expected a whole number of 32 bits");
    CHECK_THROWS_WITH(read(R"({"plan": {"precision": "int4"}})"), R"(job.plan.precision: got "int4"; expected one of fp32, bf16, fp16)");
    CHECK_THROWS_WITH(read(R"({"params": {"x": {}}})"), "job.params.x: got {}; expected null, true, false, a number or a text");
    CHECK_THROWS_WITH(decoded<std::vector<double>>(parse_json("[1, \"a\"]", "v"), "v"), "v[1]: got \"a\"; expected a number");
    CHECK_THROWS_WITH(read(std::string(1'000'000, '[').c_str()), Catch::EndsWith("expected JSON of at most 64 levels"));
    CHECK(read(R"({"study": "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"[["})").trial == 0);
    CHECK(read(R"({"unknown": 1, "trial": 4})").trial == 4);
}
