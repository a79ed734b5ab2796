// SPDX-License-Identifier: MIT
#pragma once

#include <limits>

#include "hpo/core/history.hpp"
#include "hpo/core/trial.hpp"

namespace hpo::testing {

/// A reading with every figure set. Each `seed` gives other figures.
[[nodiscard]] inline MemoryReading sample_reading(std::int64_t seed) {
    MemoryReading reading;
    reading.allocated = seed + 1;
    reading.reserved = seed + 2;
    reading.free = seed + 3;
    reading.capacity = (std::int64_t{1} << 40) + seed;
    reading.limit = seed + 5;
    reading.peak_allocated = seed + 6;
    reading.peak_reserved = seed + 7;
    reading.neighbours = {{4242, seed + 8, "a \"program\""}, {4243, 0}};
    return reading;
}

/// One parameter of each kind of distribution. The last has a choice of each type.
[[nodiscard]] inline ParamSet sample_params() {
    ParamSet params;
    params.set("optim.lr", FloatDistribution{1e-5, 0.1, true, std::nullopt}, 0.0012345678901234567);
    params.set("dropout", FloatDistribution{0.0, 0.5, false, 0.1}, 0.30000000000000004);
    params.set("x", FloatDistribution{-5.0, 5.0, false, std::nullopt}, -4.25);
    params.set("layers", IntDistribution{1, 64, true, 1}, 17.0);
    params.set("tok.max_length", IntDistribution{128, 512, false, 32}, 384.0);
    params.set("späte \"Wahl\"", CategoricalDistribution{{std::string{"na\xC3\xAFve \"q\" \\"}, Value{}, true, std::int64_t{3}, 2.5}}, 1.0);
    params.set("a", CategoricalDistribution{{false, std::string{"adamw"}}}, 1.0);  // out of alphabetical order on purpose
    return params;
}

/// An attempt whose members all differ from their defaults.
[[nodiscard]] inline Attempt sample_attempt(int index) {
    Attempt attempt;
    attempt.index = index;
    attempt.plan = {.effective_batch = 128,
                    .micro_batch = 48 - index,
                    .activation_checkpointing = true,
                    .precision = Precision::bf16,
                    .expandable_segments = true,
                    .allocator_settings = "max_split_size_mb:64",
                    .device = "cuda:1",
                    .cap_bytes = 600'000'000};
    attempt.changed_params = sample_params();
    Estimate estimate;
    estimate.need = 1'000'000'001;
    estimate.comfort = 1'200'000'002;
    estimate.parts = {{"weights", 10}, {"activations", 20}, {"weights", 30}};
    estimate.source = "formula";
    estimate.confidence = 0.95;
    estimate.cap_bytes = 3'000'000'003;
    attempt.estimate = estimate;
    attempt.capacity_bytes = 25'000'000'007;
    attempt.device_name = "NVIDIA H100 80GB HBM3";
    attempt.model_family =
        "text_classifier bf16 model=b\xC3\xAF"
        "g";
    attempt.worker_pid = 31337;
    attempt.fresh_worker = true;
    attempt.resumed_step = 7;
    attempt.checkpoint_step = 15;
    attempt.started = Time{std::chrono::microseconds{1'790'000'000'123'456}};
    attempt.seconds = 12.345678901;
    attempt.outcome = OutcomeKind::failed;
    Failure failure;
    failure.kind = FailureKind::out_of_memory;
    failure.message = "CUDA out of memory. Tried to allocate 360.00 MiB\nsecond line \xE2\x82\xAC";
    failure.type = "c10::OutOfMemoryError";
    failure.code = 2;
    failure.signal = 9;
    failure.exit_status = 137;
    failure.where = "backward";
    failure.traceback = "frame 0\nframe 1";
    failure.memory = sample_reading(1000);
    failure.requested_bytes = 377'487'360;
    failure.cause = OomCause::fragmentation;
    failure.evidence = "360 MiB refused while 1 GiB is reserved but not allocated";
    attempt.failure = failure;
    attempt.peak_allocated = 900;
    attempt.peak_reserved = 901;
    attempt.approximate = true;
    attempt.decision = "retry with micro-batch 24";
    attempt.answered_by = "shrink_micro_batch";
    attempt.memory = {
        {"trial_start", 0.0, std::nullopt, sample_reading(1)}, {"step", 1.5, 10, sample_reading(2)}, {"step", 2.5, 20, MemoryReading{}}};
    attempt.reports = {{0, 0.5}, {10, std::numeric_limits<double>::quiet_NaN()}, {20, -std::numeric_limits<double>::infinity()}};
    return attempt;
}

[[nodiscard]] inline Rejection sample_rejection() {
    Rejection rejection;
    rejection.params = sample_params();
    rejection.estimate = sample_attempt(0).estimate;
    rejection.violation = 0.75;
    rejection.reason = "needs 1.75 times the device";
    rejection.plan = sample_attempt(1).plan;
    rejection.capacity_bytes = 600'000'001;
    rejection.at = Time{std::chrono::microseconds{1'790'000'001'000'002}};
    return rejection;
}

}  // namespace hpo::testing
