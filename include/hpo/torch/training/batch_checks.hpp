// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "hpo/torch/model.hpp"

namespace hpo::libtorch::inline training {

/// Labels or logits that do not fit the task. Used inside torch/ only: at its border it becomes a Failure of kind bad_batch.
class BadBatch : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// A loss that is not a finite number. Used inside torch/ only: at its border it becomes a Failure of kind non_finite.
class NonFiniteLoss : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// "[32, 10]"
[[nodiscard]] std::string shape_text(const torch::Tensor& tensor);

/// Throws BadBatch unless the targets are class numbers in [0, classes). Call it before the batch reaches the model: on a GPU, a label
/// outside this range breaks the whole process.
void check_labels(const torch::Tensor& targets, std::int64_t classes);

/// Throws BadBatch unless the logits are one row of `classes` numbers for each example.
void check_logits(const torch::Tensor& logits, const Batch& batch, std::int64_t classes);

/// Throws BadBatch unless the batch holds the number of examples that were asked for.
void check_count(const Batch& batch, std::size_t asked);

/// Throws NonFiniteLoss unless the loss is finite.
void check_loss(double loss, const std::string& place);

}  // namespace hpo::libtorch::training

#ifndef HPO_COMPILED
#include "hpo/torch/training/impl/batch_checks_inl.hpp"
#endif
