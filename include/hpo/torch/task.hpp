// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/core/attributes.hpp"
#include "hpo/core/seed.hpp"
#include "hpo/torch/model.hpp"
#include "hpo/torch/training/batch_rules.hpp"

namespace hpo::libtorch {
class TrainingStep;
}

namespace hpo::libtorch {

/// Metric to value.
using Metrics = std::map<std::string, double, std::less<>>;

/// The device of an evaluation, and the examples of each of its batches.
struct EvaluationPlan {
    torch::Device device;
    std::int64_t batch_examples = 1;
};

/// What the order of an epoch may depend on.
struct EpochOrder {
    std::int64_t effective_batch = 1;  ///< examples of a step
    Seed seed;                         ///< the epoch's own
};

/// An epoch of a training. A task that augments its examples needs it.
struct Epoch {
    std::int64_t number = 1;  ///< the first is 1
    Seed seed;                ///< the epoch's own

    /// The random numbers of an example in this epoch. They are the same in every micro-batch, loader thread and resumed attempt.
    [[nodiscard]] Rng rng_of(std::int64_t example) const { return seed.derive(static_cast<std::uint64_t>(example)).rng(); }
};

/// What a plugin supplies for one attempt. The training loop (training/loop.hpp) does the rest. Runs in the attempt's thread.
class Task {
public:
    virtual ~Task() = default;
    /// A new model on the CPU. LibTorch's generator is already seeded for it.
    [[nodiscard]] virtual std::shared_ptr<Model> build() = 0;
    [[nodiscard]] virtual std::int64_t training_examples() const = 0;
    /// The batch of these examples, each in [0, training_examples()), in this order. With loader workers, several of their threads call it
    /// at once, for the CPU. So it must change no state and draw no numbers from LibTorch's generator.
    [[nodiscard]] virtual Batch training_batch(std::span<const std::int64_t> examples, torch::Device device) const = 0;
    /// The same batch for training in this epoch. A task that augments its examples changes them here, with random numbers from
    /// `epoch.rng_of(example)` alone. The same epoch then gives the same batch. All rules of training_batch hold here, too. Sizes must not
    /// depend on random numbers.
    [[nodiscard]] virtual Batch augmented_batch(std::span<const std::int64_t> examples, torch::Device device,
                                                const Epoch& /*epoch*/) const {
        return training_batch(examples, device);
    }
    /// The sum of the losses of the batch's examples, a scalar with a gradient. Under autocast the outputs are already converted to fp32.
    [[nodiscard]] virtual torch::Tensor loss_sum(const Outputs& outputs, const Batch& batch) const = 0;
    /// True if training_step replaces the loop's own step and loss_sum: see OwnStepTask (own_step.hpp).
    [[nodiscard]] virtual bool has_own_step() const { return false; }
    /// Makes one training step and returns its mean loss over the examples.
    [[nodiscard]] virtual double training_step(TrainingStep& /*step*/) const {
        throw Error{Errc::plugin, "the task has no training step of its own"};
    }
    /// Every metric, on examples held out from training. Called without gradients, with the model in evaluation mode.
    [[nodiscard]] virtual Metrics evaluate(Model& model, const EvaluationPlan& plan) const = 0;
    /// May change the shuffled order in which an epoch visits all examples. Each example must still occur once. The same arguments must
    /// give the same order.
    virtual void arrange(std::vector<std::int64_t>& /*order*/, const EpochOrder& /*epoch*/) const {}
    /// The examples of a batch of this size that needs as much memory as any batch that an epoch may meet. The same example may occur
    /// several times. For predictions.
    [[nodiscard]] virtual std::vector<std::int64_t> heaviest_batch(std::int64_t examples) const {
        std::vector<std::int64_t> first(static_cast<std::size_t>(examples));
        std::iota(first.begin(), first.end(), std::int64_t{0});
        return first;
    }
    /// Whether all batches with the same number of training examples need the same memory. Batches of images do. Batches of texts do not:
    /// the epoch's order then decides which steps need as much as heaviest_batch, and predictions from it are upper bounds.
    [[nodiscard]] virtual bool batches_alike() const { return true; }
    /// The number of classes, for a classifier. Every batch's labels and logits are then checked. The logits are the model's first output.
    [[nodiscard]] virtual std::optional<std::int64_t> classes() const { return std::nullopt; }
    /// What every batch must be. A task overrides it to tell more than its classes, such as the vocabulary of an embedding, or less: an
    /// input may hold NaN. Begin from Task::batch_rules().
    [[nodiscard]] virtual BatchRules batch_rules() const { return {.classes = classes(), .same_shapes = batches_alike()}; }
    /// The names of the model's parts ("encoder.layer.0") from its input to its output, the embeddings first and the head last. Every
    /// parameter lies in one part. A part of several modules is their names with spaces between. Freezing, probing and the decay of the
    /// learning rate use them. If empty, the model is one part. Called after build.
    [[nodiscard]] virtual std::vector<std::string> layers() const { return {}; }
    /// True if an example's output depends on the other examples in its micro-batch (batch norm in training). Accumulated steps then differ
    /// from whole steps, and such attempts are marked approximate.
    [[nodiscard]] virtual bool mixes_examples() const { return false; }
    /// @name The held-out examples one by one, for a check of the data
    /// A task that leaves them out is checked for less. All rules of training_batch hold for held_out_batch, too.
    /// @{
    [[nodiscard]] virtual std::int64_t held_out_examples() const { return 0; }
    [[nodiscard]] virtual Batch held_out_batch(std::span<const std::int64_t> /*examples*/, torch::Device /*device*/) const {
        throw Error{Errc::plugin, "the task does not give its held-out examples"};
    }
    /// @}
    /// What a person should know about the data, one line each. For the logs of attempts and checks.
    [[nodiscard]] virtual std::vector<std::string> remarks() const { return {}; }
    /// Says in words what stands in for missing data, where only shapes count: for predictions. Empty if no data are missing.
    [[nodiscard]] virtual std::string stand_in() const { return {}; }
    /// Writes what a saved model needs besides its weights (a vocabulary, labels, the scale of its inputs) into a folder. When the model is
    /// evaluated, make_task finds the folder in job.saved_model.
    virtual void save(const std::filesystem::path& /*folder*/) const {}
    /// Called after the last epoch. Adds what the trial should keep besides the metrics. The model is in evaluation mode.
    virtual void finish(Model& /*model*/, const EvaluationPlan& /*plan*/, Attributes& /*attributes*/) const {}

    /// Sets where lines for the trial's log go. Before this call they are dropped. The trainer calls it. `write` may be called in several
    /// threads.
    void log_to(std::function<void(std::string_view)> write) { write_log_ = std::move(write); }

protected:
    /// Adds a line to the trial's log, which `hpo-analyze trial` shows. Any thread may call it, but the constructor may not. Predictions
    /// and checks write no lines.
    void log(std::string_view line) const {
        if (write_log_) write_log_(line);
    }

private:
    std::function<void(std::string_view)> write_log_;
};

}  // namespace hpo::libtorch
