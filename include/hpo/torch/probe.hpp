// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "hpo/core/error.hpp"
#include "hpo/core/seed.hpp"
#include "hpo/memory/trace_extrapolation.hpp"
#include "hpo/torch/attempt.hpp"
#include "hpo/torch/dry_run.hpp"
#include "hpo/torch/short_task.hpp"

namespace hpo::torch {

/// A trace that was not recorded at its size.
struct ProbedTrace {
    memory::AllocationTrace trace;
    double uncertainty = 0;  ///< share by which a further recording differed from what was predicted for it
};

/// What a training takes, from real ones with micro-batches of 2, 6 and 4 examples on the CPU: the first two say how each block grows, the
/// third how far that is right. Micro-batches of up to 6 are recorded as they are. Costs a few small steps and the model's own memory.
/// Throws Error where the events differ, and what the training throws.
[[nodiscard]] inline ProbedTrace probe(Task& task, const TrainingPlan& plan, Seed seed, RunningAttempt& attempt) {
    const std::int64_t micro = std::min(plan.micro_batch, task.training_examples());
    const auto record = [&](std::int64_t examples) {
        return trace_training(ShortTask::scaled(task, plan, attempt.device(), examples), seed, Recorded::device_and_host, attempt);
    };
    if (micro <= 6) {
        static_cast<void>(record(micro));  // lets lazily made workspaces be made
        return {trace_training({task, plan, attempt.device()}, seed, Recorded::device_and_host, attempt), 0};
    }
    static_cast<void>(record(2));
    std::vector<memory::SizedTrace> traces;
    for (const std::int64_t examples : {2, 6, 4}) traces.push_back({{.examples = examples}, record(examples)});
    const memory::TraceExtrapolation fit{std::move(traces)};
    const double error = fit.largest_error().value_or(0);
    if (error > 0.05)
        throw Error{Errc::plugin, "the training's memory does not grow evenly with the micro-batch: 4 examples are " +
                                      std::to_string(static_cast<int>(100 * error)) + " % off what 2 and 6 say of them"};
    return {fit.at({.examples = micro}), error};
}

}  // namespace hpo::torch
