// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hpo::libtorch {

enum class OptimizerKind { sgd, adamw, adafactor };

inline constexpr std::array<std::string_view, 3> optimizer_names{"sgd", "adamw", "adafactor"};
[[nodiscard]] constexpr std::optional<OptimizerKind> optimizer_kind(std::string_view text) {
    for (std::size_t i = 0; i < optimizer_names.size(); ++i) {
        if (optimizer_names[i] == text) return static_cast<OptimizerKind>(i);
    }
    return std::nullopt;
}

struct OptimizerSettings {
    OptimizerKind kind = OptimizerKind::adamw;
    double learning_rate = 1e-3;
    double weight_decay = 0;
    double momentum = 0.9;   ///< sgd
    bool nesterov = false;   ///< sgd; needs a momentum above 0
    double layer_decay = 1;  ///< a part's learning rate divided by that of the next part towards the output
};

/// Parameters that learn at the same rate.
struct ParameterGroup {
    std::vector<torch::Tensor> parameters;
    double rate_factor = 1;  ///< of the learning rate
};

/// The parameters that learn, each once. With a decay below 1 each part has its own group. The last part learns at the full rate. Each part
/// before it learns at `layer_decay` times the rate of the next one (Howard and Ruder 2018, section 3.2). Throws Error if no parameter
/// learns.
[[nodiscard]] std::vector<ParameterGroup> parameter_groups(const torch::nn::Module& model, const std::vector<std::string>& parts,
                                                           double layer_decay);

/// LibTorch's optimizer over parameter groups, with a factor for each group's learning rate.
class Optimizer {
public:
    Optimizer(const OptimizerSettings& settings, std::vector<ParameterGroup> groups);

    void set_learning_rate(double learning_rate) {
        for (std::size_t i = 0; i < factors_.size(); ++i) optimizer_->param_groups()[i].options().set_lr(learning_rate * factors_[i]);
    }
    void step() { optimizer_->step(); }
    /// Calls `visit(gradient)` for each gradient that exists.
    template <class Visit>
    void each_gradient(const Visit& visit) {
        for (auto& group : optimizer_->param_groups()) {
            for (torch::Tensor& parameter : group.params()) {
                if (torch::Tensor gradient = parameter.grad(); gradient.defined()) visit(gradient);
            }
        }
    }
    /// LibTorch's own optimizer, for saving and loading its state.
    [[nodiscard]] torch::optim::Optimizer& get() { return *optimizer_; }

private:
    static std::unique_ptr<torch::optim::Optimizer> make(const OptimizerSettings& settings,
                                                         std::vector<torch::optim::OptimizerParamGroup> groups);

    std::unique_ptr<torch::optim::Optimizer> optimizer_;
    std::vector<double> factors_;
};

}  // namespace hpo::libtorch
