// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hpo::torch {

/// LoRA (Hu et al. 2021): W' = W + (alpha / rank) B A, where W stays as it is and A and B learn.
struct LoraSettings {
    std::int64_t rank = 8;
    double alpha = 16;
    double dropout = 0;                ///< share of the addition's inputs dropped in training
    std::vector<std::string> targets;  ///< the last parts of the layers' names ("query"); empty: every layer that can
};

/// A layer whose weight can be given an addition of low rank. Find them with adapt_layers and merge_layers.
class LowRankLayer {
public:
    virtual ~LowRankLayer() = default;
    /// Adds `lora_a` and `lora_b`, drawn from LibTorch's generator so that the outputs stay what they were; `weight` and `bias` learn on
    /// unless somebody freezes them. Throws Error for a layer that cannot be adapted; once for each layer.
    virtual void adapt(const LoraSettings& settings) = 0;
    /// Adds B A to the weight and forgets A and B: outputs stay the same within rounding.
    virtual void merge() = 0;
};

/// A LibTorch layer with `weight` [outputs, inputs, ...] that can be adapted.
template <class Layer>
class Adapted : public Layer, public LowRankLayer {
public:
    using Layer::Layer;

    void adapt(const LoraSettings& settings) override {
        std::vector<std::int64_t> a_shape = this->weight.sizes().vec();
        std::vector<std::int64_t> b_shape(a_shape.size(), 1);
        b_shape[0] = std::exchange(a_shape[0], settings.rank);
        b_shape[1] = settings.rank;
        const auto like_weight = this->weight.options().requires_grad(false);
        a_ = this->register_parameter("lora_a", ::torch::nn::init::kaiming_uniform_(::torch::empty(a_shape, like_weight), std::sqrt(5.0)));
        b_ = this->register_parameter("lora_b", ::torch::zeros(b_shape, like_weight));
        scale_ = settings.alpha / static_cast<double>(settings.rank);
        dropout_ = settings.dropout;
    }
    void merge() final {
        if (!a_.defined()) return;
        const ::torch::NoGradGuard no_gradients;
        this->weight.add_(b_.flatten(1).mm(a_.flatten(1)).view_as(this->weight), scale_);
        this->parameters_.erase("lora_a");
        this->parameters_.erase("lora_b");
        a_ = b_ = ::torch::Tensor{};
    }

protected:
    /// `whole` is the layer's own output; `through` applies a weight of the layer's kind ([rank, inputs, ...]) to its input, `out` one
    /// without extent ([outputs, rank, 1, ...]).
    template <class Through, class Out>
    [[nodiscard]] ::torch::Tensor with_addition(const ::torch::Tensor& whole, const ::torch::Tensor& input, const Through& through,
                                                const Out& out) const {
        if (!a_.defined()) return whole;
        const ::torch::Tensor kept = dropout_ > 0 ? ::torch::dropout(input, dropout_, this->is_training()) : input;
        return whole + out(through(kept, a_), b_) * scale_;
    }

private:
    ::torch::Tensor a_;
    ::torch::Tensor b_;
    double scale_ = 1;
    double dropout_ = 0;
};

/// Adapts the layers that `settings.targets` names and that `wanted(name)` accepts; returns their names. Throws Error for a target that
/// names none, and where there is no layer at all.
std::vector<std::string> adapt_layers(::torch::nn::Module& module, const LoraSettings& settings,
                                      const std::function<bool(std::string_view)>& wanted);

/// Folds every addition into its weight: the module then has the parameters it had before it was adapted.
void merge_layers(::torch::nn::Module& module);

}  // namespace hpo::torch

#ifndef HPO_COMPILED
#include "hpo/torch/impl/low_rank_inl.hpp"
#endif
