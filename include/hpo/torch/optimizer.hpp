// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace hpo::torch {

enum class OptimizerKind { sgd, adamw };

inline constexpr std::array<std::string_view, 2> optimizer_names{"sgd", "adamw"};
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
    double momentum = 0.9;  ///< sgd
    bool nesterov = false;  ///< sgd; needs a momentum above 0
};

[[nodiscard]] inline std::unique_ptr<::torch::optim::Optimizer> make_optimizer(const OptimizerSettings& settings,
                                                                               const std::vector<::torch::Tensor>& parameters) {
    if (settings.kind == OptimizerKind::sgd) {
        return std::make_unique<::torch::optim::SGD>(parameters, ::torch::optim::SGDOptions{settings.learning_rate}
                                                                     .momentum(settings.momentum)
                                                                     .nesterov(settings.nesterov && settings.momentum > 0)
                                                                     .weight_decay(settings.weight_decay));
    }
    return std::make_unique<::torch::optim::AdamW>(
        parameters, ::torch::optim::AdamWOptions{settings.learning_rate}.weight_decay(settings.weight_decay));
}

inline void set_learning_rate(::torch::optim::Optimizer& optimizer, double learning_rate) {
    for (auto& group : optimizer.param_groups()) group.options().set_lr(learning_rate);
}

}  // namespace hpo::torch
