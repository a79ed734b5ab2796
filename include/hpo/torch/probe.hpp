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
#include "hpo/torch/threads.hpp"

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

/// What a probe stands in for.
struct ProbeTarget {
    bool cpu = true;  ///< which is what the probe runs on: it has the same kernels, and they change with the size of a batch
    int threads = 1;  ///< that the attempt computes with, on the CPU
};

/// Predicts what a training takes from a few small real ones on the CPU, whose cost is a few small steps and the model's own memory.
/// `with_task(length, work)` calls `work(task, plan)` with the attempt's task, whose examples are cut to `length` where one is given.
template <class WithTask>
class Probe {
public:
    Probe(WithTask with_task, Seed seed, ProbeTarget target, RunningAttempt& attempt)
        : with_task_{std::move(with_task)}, seed_{seed}, target_{target}, attempt_{attempt} {}

    /// Three small micro-batches: the first two say how each block grows, the third how far that is right. From 16 examples on, where
    /// oneDNN takes other kernels, a fourth of 16 is held against them; where it is not what they say, three of 16 and more take their
    /// place. With `over_length`, those of long examples are recorded with shorter ones, of three lengths and at a fourth, as long as they
    /// grow evenly with that too. Micro-batches hardly larger than these are recorded as they are. Throws Error where the events differ,
    /// and what the training throws.
    [[nodiscard]] ProbedTrace predict(bool over_length) {
        Whole whole;
        with_task_(std::nullopt, [&](Task& task, const TrainingPlan& plan) {
            whole.size = {std::min(plan.micro_batch, task.training_examples()), example_length(task)};
            whole.evaluated = plan.evaluation_batch;
        });
        pin_threads(1);
        if (over_length && whole.size.length > longest_probe) {
            try {
                static_cast<void>(record({2, 16}));  // lets lazily made workspaces be made
                return extrapolated({{2, 16}, {6, 16}, {2, 32}, {6, 32}, {2, 48}, {4, longest_probe}}, whole.size, 0.01);
            } catch (const Error&) {  // what does not grow so is probed at its own length
            }
        }
        if (target_.cpu && target_.threads > 1) {
            try {
                pin_threads(target_.threads);
                return at_own_length(whole);
            } catch (const Error&) {  // from which size on several threads divide a sum depends on its size
                pin_threads(1);
            }
        }
        return at_own_length(whole);
    }

private:
    static constexpr std::int64_t longest_probe = 64;
    /// From so many examples on oneDNN convolves in blocks of examples (seen with 2.6 on AVX-512, one thread): it then fills up few
    /// channels to 16.
    static constexpr std::int64_t switch_examples = 16;

    /// The attempt's own sizes.
    struct Whole {
        memory::BatchSize size;
        std::int64_t evaluated = 1;  ///< examples of an evaluation's batch
    };

    [[nodiscard]] ProbedTrace at_own_length(const Whole& whole) {
        const std::int64_t examples = whole.size.examples;
        if (!target_.cpu || examples < switch_examples) {
            const std::int64_t least = least_examples(whole);
            return examples <= least + 4 ? as_it_is() : grown_from(least, whole.size);
        }
        if (examples <= switch_examples + 4) return as_it_is();
        try {
            static_cast<void>(record({3, 0}));
            return extrapolated({{3, 0}, {7, 0}, {5, 0}, {switch_examples, 0}}, whole.size, 0.002);
        } catch (const Error&) {
            return grown_from(switch_examples, whole.size);
        }
    }
    /// Two have kernels of their own, seen as above. An evaluation whose batch grows with the micro-batch must be on its own side.
    [[nodiscard]] std::int64_t least_examples(const Whole& whole) const {
        constexpr std::int64_t least = 3;
        const std::int64_t batches = (whole.evaluated + whole.size.examples - 1) / whole.size.examples;
        if (!target_.cpu || whole.evaluated < switch_examples) return least;
        return std::max(least, (switch_examples + batches - 1) / batches);
    }
    [[nodiscard]] ProbedTrace as_it_is() {
        static_cast<void>(record_whole());
        return {record_whole(), 0};
    }
    [[nodiscard]] ProbedTrace grown_from(std::int64_t examples, memory::BatchSize whole) {
        static_cast<void>(record({examples, 0}));
        return extrapolated({{examples, 0}, {examples + 4, 0}, {examples + 2, 0}}, whole, 0.05);
    }

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
    ProbeTarget target_;
    RunningAttempt& attempt_;
};

}  // namespace hpo::torch
