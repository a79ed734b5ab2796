// SPDX-License-Identifier: MIT
#include "hpo/torch/training/optimizer.hpp"

#include <torch/torch.h>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "torch/adaptation/model_parts.hpp"
#include "torch/training/adafactor.hpp"

namespace hpo::libtorch {

std::vector<ParameterGroup> parameter_groups(const torch::nn::Module& model, const std::vector<std::string>& parts, double layer_decay) {
    std::vector<ParameterGroup> groups(parts.empty() || layer_decay == 1 ? 1 : parts.size());
    for (std::size_t i = 0; i < groups.size(); ++i)
        groups[i].rate_factor = std::pow(layer_decay, static_cast<double>(groups.size() - 1 - i));
    for (const auto& [name, parameter] : distinct_parameters(model)) {
        if (parameter.requires_grad()) groups[groups.size() == 1 ? 0 : part_of(name, parts)].parameters.push_back(parameter);
    }
    std::erase_if(groups, [](const ParameterGroup& group) { return group.parameters.empty(); });
    if (groups.empty()) throw Error{Errc::plugin, "the model has no parameter that learns"};
    return groups;
}

Optimizer::Optimizer(const OptimizerSettings& settings, std::vector<ParameterGroup> groups) {
    std::vector<torch::optim::OptimizerParamGroup> parameters;
    for (ParameterGroup& group : groups) {
        factors_.push_back(group.rate_factor);
        parameters.emplace_back(std::move(group.parameters));
    }
    optimizer_ = make(settings, std::move(parameters));
    set_learning_rate(settings.learning_rate);
}

std::unique_ptr<torch::optim::Optimizer> Optimizer::make(const OptimizerSettings& settings,
                                                         std::vector<torch::optim::OptimizerParamGroup> groups) {
    const double rate = settings.learning_rate;
    switch (settings.kind) {
        case OptimizerKind::sgd:
            return std::make_unique<torch::optim::SGD>(std::move(groups), torch::optim::SGDOptions{rate}
                                                                              .momentum(settings.momentum)
                                                                              .nesterov(settings.nesterov && settings.momentum > 0)
                                                                              .weight_decay(settings.weight_decay));
        case OptimizerKind::adamw:
            return std::make_unique<torch::optim::AdamW>(std::move(groups),
                                                         torch::optim::AdamWOptions{rate}.weight_decay(settings.weight_decay));
        case OptimizerKind::adafactor: return std::make_unique<Adafactor>(std::move(groups), AdafactorOptions{rate, settings.weight_decay});
    }
    throw Error{Errc::bad_value, "optim.kind: no such optimizer"};
}

}  // namespace hpo::libtorch
