// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
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

/// How long the examples of a task's heaviest batch are: the second dimension of its first input; 1 without one.
[[nodiscard]] inline std::int64_t example_length(const Task& task) {
    const Unmetered outside;
    const Batch batch = task.training_batch(task.heaviest_batch(1), ::torch::kCPU);
    return batch.inputs.empty() || batch.inputs.front().dim() < 2 ? 1 : batch.inputs.front().size(1);
}

/// Predicts what a training takes from a few small real ones on the CPU, whose cost is a few small steps and the model's own memory.
/// `with_task(length, work)` calls `work(task, plan)` with the attempt's task, whose examples are cut to `length` where one is given.
template <class WithTask>
class Probe {
public:
    Probe(WithTask with_task, Seed seed, RunningAttempt& attempt) : with_task_{std::move(with_task)}, seed_{seed}, attempt_{attempt} {}

    /// Micro-batches of 2, 6 and 4 examples: the first two say how each block grows, the third how far that is right. With
    /// `over_length`, those of long examples are recorded with shorter ones, of three lengths and at a fourth, as long as they grow evenly
    /// with that too. Micro-batches of up to 6 are recorded as they are. Throws Error where the events differ, and what the training
    /// throws.
    [[nodiscard]] ProbedTrace predict(bool over_length) {
        memory::BatchSize whole;
        with_task_(std::nullopt, [&](Task& task, const TrainingPlan& plan) {
            whole = {std::min(plan.micro_batch, task.training_examples()), example_length(task)};
        });
        if (over_length && whole.length > longest_probe) {
            try {
                static_cast<void>(record({2, 16}));  // lets lazily made workspaces be made
                return extrapolated({{2, 16}, {6, 16}, {2, 32}, {6, 32}, {2, 48}, {4, longest_probe}}, whole, 0.01);
            } catch (const Error&) {  // what does not grow so is probed at its own length
            }
        }
        if (whole.examples <= 6) {
            static_cast<void>(record_whole());
            return {record_whole(), 0};
        }
        static_cast<void>(record({2, 0}));
        return extrapolated({{2, 0}, {6, 0}, {4, 0}}, whole, 0.05);
    }

private:
    static constexpr std::int64_t longest_probe = 64;

    [[nodiscard]] memory::AllocationTrace record_whole() {
        memory::AllocationTrace trace;
        with_task_(std::nullopt, [&](Task& task, const TrainingPlan& plan) {
            trace = trace_training({task, plan, attempt_.device()}, seed_, Recorded::device_and_host, attempt_);
        });
        return trace;
    }
    /// A length of 0 is the examples' own.
    [[nodiscard]] memory::SizedTrace record(memory::BatchSize wanted) {
        memory::SizedTrace recorded;
        std::optional<std::int64_t> limit;
        if (wanted.length > 0) limit = wanted.length;
        with_task_(limit, [&](Task& task, const TrainingPlan& plan) {
            recorded.size = {wanted.examples, example_length(task)};
            recorded.trace = trace_training(ShortTask::scaled(task, plan, attempt_.device(), wanted.examples), seed_,
                                            Recorded::device_and_host, attempt_);
        });
        return recorded;
    }
    [[nodiscard]] ProbedTrace extrapolated(const std::vector<memory::BatchSize>& sizes, memory::BatchSize whole, double most_error) {
        std::vector<memory::SizedTrace> traces;
        for (const memory::BatchSize size : sizes) traces.push_back(record(size));
        const memory::TraceExtrapolation fit{std::move(traces)};
        const double error = fit.largest_error().value_or(0);
        if (error > most_error)
            throw Error{Errc::plugin,
                        "the training's memory does not grow evenly with the micro-batch: " + std::to_string(sizes.back().examples) +
                            " examples are " + std::to_string(static_cast<int>(100 * error)) +
                            " % off what smaller and larger ones say of them"};
        return {fit.at(whole), error};
    }

    WithTask with_task_;
    Seed seed_;
    RunningAttempt& attempt_;
};

}  // namespace hpo::torch
