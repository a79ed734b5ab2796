// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "hpo/torch/model.hpp"

namespace hpo::torch {

/// Labels or logits that do not fit the task. Inside torch/ only: at its border it becomes a Failure of kind bad_batch.
class BadBatch : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// A loss that is not a number. Inside torch/ only: at its border it becomes a Failure of kind non_finite.
class NonFiniteLoss : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// "[32, 10]"
[[nodiscard]] std::string shape_text(const ::torch::Tensor& tensor);

/// Throws BadBatch unless the targets are class numbers in [0, classes). Before the batch reaches the model: on a GPU a
/// label outside the range would cost the whole process.
void check_labels(const ::torch::Tensor& targets, std::int64_t classes);

/// Throws BadBatch unless the logits are one row of `classes` numbers for each example.
void check_logits(const ::torch::Tensor& logits, const Batch& batch, std::int64_t classes);

/// Throws BadBatch unless the batch holds as many examples as were asked for.
void check_count(const Batch& batch, std::size_t asked);

/// Throws NonFiniteLoss unless the loss is a number.
void check_loss(double loss, const std::string& place);

}  // namespace hpo::torch

#ifndef HPO_COMPILED
#include "hpo/torch/impl/batch_checks_inl.hpp"
#endif
