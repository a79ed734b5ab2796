// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"

namespace hpo::libtorch {

/// Examples on the attempt's device: the inputs of the model and the targets of its outputs. The first dimension of every tensor counts the
/// examples.
struct Batch {
    std::vector<torch::Tensor> inputs;
    torch::Tensor targets;

    [[nodiscard]] std::int64_t examples() const { return targets.size(0); }
};

/// The outputs of a model for a batch: one tensor or several. The first dimension of each counts the examples. A single tensor converts to
/// Outputs and back.
class Outputs {
public:
    Outputs() = default;
    Outputs(torch::Tensor only) { tensors_.push_back(std::move(only)); }           // NOLINT(google-explicit-constructor)
    Outputs(std::vector<torch::Tensor> several) : tensors_{std::move(several)} {}  // NOLINT(google-explicit-constructor)
    operator torch::Tensor() const { return only(); }                              // NOLINT(google-explicit-constructor)

    /// The single tensor. Throws Error{plugin} if there is not exactly one.
    [[nodiscard]] const torch::Tensor& only() const& {
        if (tensors_.size() != 1)
            throw Error{Errc::plugin,
                        "the model has " + std::to_string(tensors_.size()) + " outputs where one is expected; name one: outputs[0]"};
        return tensors_.front();
    }
    /// Throws Error{plugin} if the index is too large.
    [[nodiscard]] const torch::Tensor& operator[](std::size_t index) const& {
        if (index >= tensors_.size())
            throw Error{Errc::plugin, "outputs[" + std::to_string(index) + "]: the model has " + std::to_string(tensors_.size()) +
                                          " outputs, counted from 0"};
        return tensors_[index];
    }
    /// The same for a temporary, by value.
    [[nodiscard]] torch::Tensor only() && { return std::as_const(*this).only(); }
    [[nodiscard]] torch::Tensor operator[](std::size_t index) && { return std::as_const(*this)[index]; }
    [[nodiscard]] std::size_t size() const { return tensors_.size(); }
    [[nodiscard]] auto begin() const { return tensors_.begin(); }
    [[nodiscard]] auto end() const { return tensors_.end(); }

    /// The outputs with each tensor replaced by `change(tensor)`.
    template <class Change>
    [[nodiscard]] Outputs each(const Change& change) const {
        std::vector<torch::Tensor> changed;
        changed.reserve(tensors_.size());
        for (const torch::Tensor& tensor : tensors_) changed.push_back(change(tensor));
        return changed;
    }
    /// The same outputs with floating tensors converted to fp32. Autocast may leave a shorter type.
    [[nodiscard]] Outputs in_fp32() const {
        return each([](const torch::Tensor& tensor) { return tensor.is_floating_point() ? tensor.to(torch::kFloat) : tensor; });
    }

private:
    std::vector<torch::Tensor> tensors_;
};

/// A module that the training loop can run.
class Model : public torch::nn::Module {
public:
    [[nodiscard]] virtual Outputs forward(const Batch& batch) = 0;
};

}  // namespace hpo::libtorch
