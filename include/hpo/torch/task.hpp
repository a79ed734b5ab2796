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

#include "hpo/core/attributes.hpp"
#include "hpo/core/error.hpp"
#include "hpo/core/seed.hpp"
#include "hpo/torch/model.hpp"

namespace hpo::torch {

/// Metric to value.
using Metrics = std::map<std::string, double, std::less<>>;

/// Where and how much at a time examples are evaluated.
struct EvaluationPlan {
    ::torch::Device device;
    std::int64_t batch_examples = 1;
};

/// What an epoch's order is made for.
struct EpochOrder {
    std::int64_t effective_batch = 1;  ///< examples of a step
    Seed seed;                         ///< the epoch's own
};

/// An epoch of a training, for a task that changes its examples at random (augmentation).
struct Epoch {
    std::int64_t number = 1;  ///< the first is 1
    Seed seed;                ///< the epoch's own

    /// Random numbers of an example in this epoch: the same in whatever micro-batch, loader thread or resumed attempt it is made.
    [[nodiscard]] Rng rng_of(std::int64_t example) const { return seed.derive(static_cast<std::uint64_t>(example)).rng(); }
};

class TrainingStep;

/// What a plugin supplies for one attempt; the loop (training_loop.hpp) does the rest. Runs in the attempt's thread.
class Task {
public:
    virtual ~Task() = default;
    /// A new model on the CPU; LibTorch's generator has been seeded for it.
    [[nodiscard]] virtual std::shared_ptr<Model> build() = 0;
    [[nodiscard]] virtual std::int64_t training_examples() const = 0;
    /// The batch of these examples, each in [0, training_examples()), in this order. With loader workers it is called in their threads,
    /// in several at once, for the CPU: it changes nothing, and draws nothing from LibTorch's generator.
    [[nodiscard]] virtual Batch training_batch(std::span<const std::int64_t> examples, ::torch::Device device) const = 0;
    /// The same batch as training takes it in this epoch, changed at random where the task augments its examples: by
    /// `epoch.rng_of(example)` alone, so that the same epoch gives the same batch. All rules of training_batch hold here, too, and sizes do
    /// not depend on what is drawn.
    [[nodiscard]] virtual Batch augmented_batch(std::span<const std::int64_t> examples, ::torch::Device device,
                                                const Epoch& /*epoch*/) const {
        return training_batch(examples, device);
    }
    /// The losses of the batch's examples added up, a scalar with a gradient. Under autocast the outputs have been made fp32.
    [[nodiscard]] virtual ::torch::Tensor loss_sum(const Outputs& outputs, const Batch& batch) const = 0;
    /// True where training_step takes the place of the loop's own step, and of loss_sum: see OwnStepTask (own_step.hpp).
    [[nodiscard]] virtual bool has_own_step() const { return false; }
    /// One training step, and its mean loss over the examples.
    [[nodiscard]] virtual double training_step(TrainingStep& /*step*/) const {
        throw Error{Errc::plugin, "the task has no training step of its own"};
    }
    /// Every metric on examples held out from training. Called without gradients, the model in evaluation mode.
    [[nodiscard]] virtual Metrics evaluate(Model& model, const EvaluationPlan& plan) const = 0;
    /// May change the shuffled order in which an epoch visits all examples, each once. The same arguments give the same order.
    virtual void arrange(std::vector<std::int64_t>& /*order*/, const EpochOrder& /*epoch*/) const {}
    /// Of all batches of so many training examples that an epoch may meet, one that needs the most memory, for predictions: its examples,
    /// which may be the same one several times.
    [[nodiscard]] virtual std::vector<std::int64_t> heaviest_batch(std::int64_t examples) const {
        std::vector<std::int64_t> first(static_cast<std::size_t>(examples));
        std::iota(first.begin(), first.end(), std::int64_t{0});
        return first;
    }
    /// Whether all batches of as many training examples need the same memory, as those of images do. Where they do not, as those of texts,
    /// an epoch's order decides which steps need what heaviest_batch does, and predictions from it are upper bounds.
    [[nodiscard]] virtual bool batches_alike() const { return true; }
    /// For a classifier the number of classes: labels and logits, which are the model's first output, are then checked in every batch.
    [[nodiscard]] virtual std::optional<std::int64_t> classes() const { return std::nullopt; }
    /// The names of the model's parts from its input to its output, the embeddings first and the head last ("encoder.layer.0"): every
    /// parameter lies in one, and a part of several modules is their names with a space between. Freezing, probing and a decay of the
    /// learning rate go by them. Empty: the model is one part. Asked after build.
    [[nodiscard]] virtual std::vector<std::string> layers() const { return {}; }
    /// True when an example's output depends on the others in its micro-batch (batch norm in training): accumulated steps
    /// are then not the same steps, and such attempts are marked approximate.
    [[nodiscard]] virtual bool mixes_examples() const { return false; }
    /// What a person should know of the data, a line each: for the log of an attempt and of a check.
    [[nodiscard]] virtual std::vector<std::string> remarks() const { return {}; }
    /// What the task has instead of data that are not there, in words: where only shapes count, for predictions. Empty: nothing is missing.
    [[nodiscard]] virtual std::string stand_in() const { return {}; }
    /// Writes what a saved model needs besides its weights (a vocabulary, labels, the scale of its inputs) into a folder. make_task finds
    /// it again in job.saved_model, when the model is evaluated.
    virtual void save(const std::filesystem::path& /*folder*/) const {}
    /// After the last epoch: adds what the trial should keep besides the metrics. The model is in evaluation mode.
    virtual void finish(Model& /*model*/, const EvaluationPlan& /*plan*/, Attributes& /*attributes*/) const {}

    /// Where lines for the trial's log go from now on; nowhere before. Called by the trainer; `write` may be called in several threads.
    void log_to(std::function<void(std::string_view)> write) { write_log_ = std::move(write); }

protected:
    /// Adds a line to the trial's log, which `hpo-analyze trial` shows. In any thread, but not in the constructor; predictions and checks
    /// write none.
    void log(std::string_view line) const {
        if (write_log_) write_log_(line);
    }

private:
    std::function<void(std::string_view)> write_log_;
};

}  // namespace hpo::torch
