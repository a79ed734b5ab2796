// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hpo/core/error.hpp"

namespace hpo::torch {

/// Examples on the attempt's device: what the model reads, and what its outputs are held against. The first dimension of
/// every tensor counts the examples.
struct Batch {
    std::vector<::torch::Tensor> inputs;
    ::torch::Tensor targets;

    [[nodiscard]] std::int64_t examples() const { return targets.size(0); }
};

/// What a model gives for a batch: one tensor or several, the first dimension of each counting the examples. A single tensor converts to
/// Outputs and back by itself.
class Outputs {
public:
    Outputs() = default;
    Outputs(::torch::Tensor only) { tensors_.push_back(std::move(only)); }           // NOLINT(google-explicit-constructor)
    Outputs(std::vector<::torch::Tensor> several) : tensors_{std::move(several)} {}  // NOLINT(google-explicit-constructor)
    operator ::torch::Tensor() const { return only(); }                              // NOLINT(google-explicit-constructor)

    /// The single tensor. Throws Error{plugin} when there are several, or none.
    [[nodiscard]] const ::torch::Tensor& only() const& {
        if (tensors_.size() != 1)
            throw Error{Errc::plugin,
                        "the model has " + std::to_string(tensors_.size()) + " outputs where one is expected; name one: outputs[0]"};
        return tensors_.front();
    }
    /// Throws Error{plugin} when there are not as many.
    [[nodiscard]] const ::torch::Tensor& operator[](std::size_t index) const& {
        if (index >= tensors_.size())
            throw Error{Errc::plugin, "outputs[" + std::to_string(index) + "]: the model has " + std::to_string(tensors_.size()) +
                                          " outputs, counted from 0"};
        return tensors_[index];
    }
    /// The same of what is about to end, by value.
    [[nodiscard]] ::torch::Tensor only() && { return std::as_const(*this).only(); }
    [[nodiscard]] ::torch::Tensor operator[](std::size_t index) && { return std::as_const(*this)[index]; }
    [[nodiscard]] std::size_t size() const { return tensors_.size(); }
    [[nodiscard]] auto begin() const { return tensors_.begin(); }
    [[nodiscard]] auto end() const { return tensors_.end(); }

    /// change(tensor) in the place of each.
    template <class Change>
    [[nodiscard]] Outputs each(const Change& change) const {
        std::vector<::torch::Tensor> changed;
        changed.reserve(tensors_.size());
        for (const ::torch::Tensor& tensor : tensors_) changed.push_back(change(tensor));
        return changed;
    }
    /// The same numbers in fp32, where they are numbers with a fraction: what autocast leaves may be shorter.
    [[nodiscard]] Outputs in_fp32() const {
        return each([](const ::torch::Tensor& tensor) { return tensor.is_floating_point() ? tensor.to(::torch::kFloat) : tensor; });
    }

private:
    std::vector<::torch::Tensor> tensors_;
};

/// A module that the training loop can run.
class Model : public ::torch::nn::Module {
public:
    [[nodiscard]] virtual Outputs forward(const Batch& batch) = 0;
};

}  // namespace hpo::torch
