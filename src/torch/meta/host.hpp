// SPDX-License-Identifier: MIT
#pragma once

#include <ATen/TensorUtils.h>
#include <torch/library.h>
#include <torch/torch.h>
#include <torch/version.h>

#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "torch/meta/factories.hpp"

namespace hpo::libtorch {

/// While it lives, meta tensors are treated as the CPU's in operators that depend on the device. An LSTM multiplies the inputs of all steps
/// at once, and attention without dropout keeps no scores. Since 2.0 oneDNN computes the LSTM, with memory of its own, so an LSTM is
/// refused.
class MetaHost {
public:
    MetaHost();
    MetaHost(const MetaHost&) = delete;
    MetaHost& operator=(const MetaHost&) = delete;

private:
    using Tensor = torch::Tensor;

#if TORCH_VERSION_MAJOR >= 2
    /// The CPU's fused kernel has no dropout.
    static Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const TorchOptional<Tensor>& mask, double dropout,
                            bool causal, TorchOptional<double> scale, bool grouped);
#endif

    struct State {
        Tensor output;
        Tensor cell;
    };
    /// A layer's parameters in one direction; biases may be undefined.
    struct Weights {
        Tensor input;
        Tensor state;
        Tensor input_bias;
        Tensor state_bias;
    };

    static State step(const Tensor& from_input, const State& before, const Weights& weights);
    /// Runs the steps over [steps, examples, inputs] in one direction.
    static std::pair<Tensor, State> sweep(std::vector<Tensor> inputs, State state, const Weights& weights);

    static std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& whole_input, at::TensorList states, at::TensorList parameters, bool biases,
                                                   std::int64_t layers, double dropout, bool training, bool bidirectional,
                                                   bool batch_first);

    torch::Library operators_{torch::Library::IMPL, "aten", c10::DispatchKey::AutogradMeta, __FILE__, __LINE__};
};

}  // namespace hpo::libtorch
