// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/torch/model.hpp"
#include "hpo/torch/training/batch_rules.hpp"

namespace hpo::libtorch {

/// A batch or logits that do not fit the task. In a trainer it becomes a Failure of kind bad_batch.
class BadBatch : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// A loss that is not a finite number. In a trainer it becomes a Failure of kind non_finite.
class NonFiniteLoss : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Which batch is checked, for messages.
struct BatchPlace {
    std::int64_t number = 1;                   ///< of the batch, from 1
    std::string_view of{};                     ///< what it is a batch of: "epoch 2"; may be empty
    std::int64_t first_row = 0;                ///< the row of its first example in that batch, if only a part of the batch is checked
    std::span<const std::int64_t> examples{};  ///< the numbers of its examples in the data set; may be empty
};

/// "[32, 10]"
[[nodiscard]] std::string shape_text(const torch::Tensor& tensor);

/// The message and, if there is one, the configuration: "MESSAGE; configuration: lr = 0.1".
[[nodiscard]] std::string with_configuration(std::string message, std::string_view configuration);

/// Throws BadBatch unless labels, ids and inputs keep the rules. Call it before the batch reaches the model: on a GPU, a label or an id
/// outside its range breaks the whole process. Inputs that lie on a GPU are not looked at for NaN: check_finite does.
///
/// Thread safety: any thread.
void check_batch(const Batch& batch, const BatchRules& rules, const BatchPlace& place = {});

/// Throws BadBatch if an input or a target holds NaN or infinity, on any device.
void check_finite(const Batch& batch, const BatchPlace& place = {});

/// Throws BadBatch unless there is one row of `classes` numbers for each label. If an example has several labels, the classes are the
/// logits' second dimension, as cross_entropy wants it, or the last.
void check_logits(const torch::Tensor& logits, const Batch& batch, std::int64_t classes);

/// Throws BadBatch unless the batch holds the number of examples that were asked for.
void check_count(const Batch& batch, std::size_t asked);

/// Throws NonFiniteLoss unless the loss is finite. The message is "the loss is NaN PLACE".
void check_loss(double loss, const std::string& place);

/// Holds batches against the first of them.
class FirstShapes {
public:
    /// Throws BadBatch if the number of inputs, a type, a number of dimensions or, with `sizes`, a size of an example differs from the
    /// first batch. A tensor that is not defined fits all.
    void check(const Batch& batch, bool sizes, const BatchPlace& place = {});

private:
    struct Shape {
        std::vector<std::int64_t> sizes;
        torch::ScalarType type;
    };
    void check(std::optional<Shape>& first, const torch::Tensor& tensor, bool sizes, const std::string& name, const BatchPlace& place);

    std::optional<std::size_t> inputs_;
    std::vector<std::optional<Shape>> input_shapes_;
    std::optional<Shape> targets_;
};

/// All checks of a training loop. Each message names the batch, the row, the value, what is allowed and the configuration.
///
/// Thread safety: one thread.
class BatchChecks {
public:
    /// `configuration` is the training's parameters in words, for messages: "lr = 0.1, batch = 32".
    explicit BatchChecks(const BatchRules& rules, std::string configuration = {})
        : rules_{rules}, configuration_{std::move(configuration)} {}

    /// Counts the batch, and throws BadBatch if it breaks a rule. Call it with the batch on the CPU, before it goes to a device.
    void check_batch(const Batch& batch);
    /// Throws BadBatch unless the logits fit the batch's labels and the rules' classes.
    void check_logits(const torch::Tensor& logits, const Batch& batch) const;
    /// Throws NonFiniteLoss unless the loss, one number, is finite.
    void check_loss(const torch::Tensor& loss) const;
    /// The number of batches so far.
    [[nodiscard]] std::int64_t batches() const { return batches_; }

private:
    BatchRules rules_;
    std::string configuration_;
    FirstShapes shapes_;
    std::int64_t batches_ = 0;
};

}  // namespace hpo::libtorch
