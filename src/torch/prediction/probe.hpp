// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "allocator/trace_extrapolation.hpp"
#include "hpo/base/error.hpp"
#include "hpo/core/seed.hpp"
#include "hpo/torch/attempt.hpp"
#include "hpo/torch/threads.hpp"
#include "torch/prediction/dry_run.hpp"
#include "torch/prediction/short_task.hpp"

namespace hpo::libtorch {

/// A trace that was extrapolated from recordings of other sizes.
struct ProbedTrace {
    allocator::AllocationTrace trace;
    double uncertainty = 0;  ///< the share by which one more recording differed from its prediction
};

/// The length of the examples in a task's heaviest batch: the second dimension of the first input. 1 if there is no such dimension.
[[nodiscard]] inline std::int64_t example_length(const Task& task) {
    const Unmetered outside;
    const Batch batch = task.training_batch(task.heaviest_batch(1), torch::kCPU);
    return batch.inputs.empty() || batch.inputs.front().dim() < 2 ? 1 : batch.inputs.front().size(1);
}

/// The device that a probe stands in for.
struct ProbeTarget {
    bool cpu = true;  ///< the probe runs on it as well, so its kernels, which change with the batch size, are the same
    int threads = 1;  ///< of the attempt, on the CPU
};

/// Predicts a training's memory from a few small real ones on the CPU. They cost a few small steps and the model's own memory.
/// `with_task(length, work)` calls `work(task, plan)` with the attempt's task. If `length` is given, the task's examples are cut to it.
template <class WithTask>
class Probe {
public:
    Probe(WithTask with_task, Seed seed, ProbeTarget target, RunningAttempt& attempt)
        : with_task_{std::move(with_task)}, seed_{seed}, target_{target}, attempt_{attempt} {}

    /// Records small micro-batches and extrapolates to the attempt's size. Throws Error if their events differ, and what the training
    /// throws.
    ///
    /// Three sizes are recorded: two say how each block grows, and the third how far that is right. A micro-batch that is hardly larger is
    /// recorded as it is.
    ///
    /// From 16 examples on, oneDNN takes other kernels. So larger micro-batches need a fourth recording, with 16 examples. If it differs
    /// from its prediction, three recordings of 16 and more examples replace the small ones.
    ///
    /// With `over_length`, long examples are recorded with shorter ones: of three lengths, and checked at a fourth. If their memory does
    /// not grow evenly with the length, they are recorded at their own length.
    [[nodiscard]] ProbedTrace predict(bool over_length) {
        Whole whole;
        with_task_(std::nullopt, [&](Task& task, const TrainingPlan& plan) {
            attempt_.enter("batch");
            whole.size = {std::min(plan.micro_batch, task.training_examples()), example_length(task)};
            whole.evaluated = plan.evaluation_batch;
        });
        pin_threads(1);
        if (over_length && whole.size.length > longest_probe) {
            try {
                static_cast<void>(record({2, 16}));  // so that the library's workspaces exist
                return extrapolated({{2, 16}, {6, 16}, {2, 32}, {6, 32}, {2, 48}, {4, longest_probe}}, whole.size, 0.01);
            } catch (const Error&) {  // does not grow evenly: probed at its own length
            }
        }
        if (target_.cpu && target_.threads > 1) {
            try {
                pin_threads(target_.threads);
                return at_own_length(whole);
            } catch (const Error&) {  // whether several threads share a sum depends on its size: probed with one thread
                pin_threads(1);
            }
        }
        return at_own_length(whole);
    }

private:
    static constexpr std::int64_t longest_probe = 64;
    /// From this number of examples on, oneDNN convolves in blocks of examples (seen with 2.6 on AVX-512, one thread). It then pads a few
    /// channels to 16.
    static constexpr std::int64_t switch_examples = 16;

    /// The sizes of the attempt.
    struct Whole {
        allocator::BatchSize size;
        std::int64_t evaluated = 1;  ///< examples of a batch in an evaluation
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
    /// The smallest micro-batch to record. One and two examples have kernels of their own (seen as above). If the attempt's evaluation
    /// batches reach switch_examples, the recorded ones must, too.
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
    [[nodiscard]] ProbedTrace grown_from(std::int64_t examples, allocator::BatchSize whole) {
        static_cast<void>(record({examples, 0}));
        return extrapolated({{examples, 0}, {examples + 4, 0}, {examples + 2, 0}}, whole, 0.05);
    }

    [[nodiscard]] allocator::AllocationTrace record_whole() {
        allocator::AllocationTrace trace;
        with_task_(std::nullopt, [&](Task& task, const TrainingPlan& plan) {
            trace = trace_training({task, plan, attempt_.device()}, seed_, Recorded::device_and_host, attempt_);
        });
        return trace;
    }
    /// Records a training of this size. A length of 0 keeps the examples' own length.
    [[nodiscard]] allocator::SizedTrace record(allocator::BatchSize wanted) {
        allocator::SizedTrace recorded;
        std::optional<std::int64_t> limit;
        if (wanted.length > 0) limit = wanted.length;
        with_task_(limit, [&](Task& task, const TrainingPlan& plan) {
            recorded.size = {wanted.examples, example_length(task)};
            recorded.trace = trace_training(ShortTask::scaled(task, plan, attempt_.device(), wanted.examples), seed_,
                                            Recorded::device_and_host, attempt_);
        });
        return recorded;
    }
    [[nodiscard]] ProbedTrace extrapolated(const std::vector<allocator::BatchSize>& sizes, allocator::BatchSize whole, double most_error) {
        std::vector<allocator::SizedTrace> traces;
        for (const allocator::BatchSize size : sizes) traces.push_back(record(size));
        const allocator::TraceExtrapolation fit{std::move(traces)};
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

}  // namespace hpo::libtorch
