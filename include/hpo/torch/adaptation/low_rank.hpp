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

namespace hpo::libtorch {

/// LoRA (Hu et al. 2021): W' = W + (alpha / rank) B A. W stays fixed, and A and B learn.
struct LoraSettings {
    std::int64_t rank = 8;
    double alpha = 16;
    double dropout = 0;                ///< share of the addition's inputs that training drops
    std::vector<std::string> targets;  ///< the last parts of the layers' names ("query"); empty: every layer that can be adapted
};

/// A layer whose weight can get an addition of low rank. Find such layers with adapt_layers and merge_layers.
class LowRankLayer {
public:
    virtual ~LowRankLayer() = default;
    /// Adds `lora_a` and `lora_b`, drawn from LibTorch's generator so that the outputs stay the same. `weight` and `bias` learn on unless
    /// they are frozen. Call it once for each layer. Throws Error for a layer that cannot be adapted.
    virtual void adapt(const LoraSettings& settings) = 0;
    /// Adds B A to the weight and removes A and B. The outputs stay the same within rounding.
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
        a_ = this->register_parameter("lora_a", torch::nn::init::kaiming_uniform_(torch::empty(a_shape, like_weight), std::sqrt(5.0)));
        b_ = this->register_parameter("lora_b", torch::zeros(b_shape, like_weight));
        scale_ = settings.alpha / static_cast<double>(settings.rank);
        dropout_ = settings.dropout;
    }
    void merge() final {
        if (!a_.defined()) return;
        const torch::NoGradGuard no_gradients;
        this->weight.add_(b_.flatten(1).mm(a_.flatten(1)).view_as(this->weight), scale_);
        this->parameters_.erase("lora_a");
        this->parameters_.erase("lora_b");
        a_ = b_ = torch::Tensor{};
    }

protected:
    /// Adds the low-rank addition to the layer's own output `whole`. `through` applies a weight of the layer's kind ([rank, inputs, ...])
    /// to its input. `out` applies a weight of size 1 ([outputs, rank, 1, ...]).
    template <class Through, class Out>
    [[nodiscard]] torch::Tensor with_addition(const torch::Tensor& whole, const torch::Tensor& input, const Through& through,
                                              const Out& out) const {
        if (!a_.defined()) return whole;
        const torch::Tensor kept = dropout_ > 0 ? torch::dropout(input, dropout_, this->is_training()) : input;
        return whole + out(through(kept, a_), b_) * scale_;
    }

private:
    torch::Tensor a_;
    torch::Tensor b_;
    double scale_ = 1;
    double dropout_ = 0;
};

/// Adapts the layers that `settings.targets` names and that `wanted(name)` accepts. Returns their names. Throws Error if a target names no
/// layer, and if there is no layer at all.
std::vector<std::string> adapt_layers(torch::nn::Module& module, const LoraSettings& settings,
                                      const std::function<bool(std::string_view)>& wanted);

/// Folds every addition into its weight. The module then has the same parameters as before it was adapted.
void merge_layers(torch::nn::Module& module);

}  // namespace hpo::libtorch
