// SPDX-License-Identifier: MIT
#include "torch/adaptation/model_parts.hpp"

#include <torch/torch.h>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"

namespace hpo::libtorch {

bool lies_in(std::string_view name, std::string_view part) {
    const std::string_view first = part.substr(0, part.find(' '));
    if (name.starts_with(first) && (name.size() == first.size() || name[first.size()] == '.')) return true;
    return first.size() < part.size() && lies_in(name, part.substr(first.size() + 1));
}

std::vector<std::pair<std::string, torch::Tensor>> distinct_parameters(const torch::nn::Module& model) {
    std::unordered_set<const void*> seen;
    std::vector<std::pair<std::string, torch::Tensor>> distinct;
    for (const auto& item : model.named_parameters()) {
        if (seen.insert(item.value().unsafeGetTensorImpl()).second) distinct.emplace_back(item.key(), item.value());
    }
    return distinct;
}

void check_parts(const torch::nn::Module& model, const std::vector<std::string>& parts) {
    if (parts.empty()) return;
    for (const auto& item : model.named_parameters()) {
        if (part_of(item.key(), parts) < parts.size()) continue;
        throw Error{Errc::plugin, "the parameter '" + item.key() + "' lies in none of the model's parts; known: " + join_names(parts)};
    }
}

void enter_training(torch::nn::Module& model, const std::vector<std::string>& parts) {
    model.train();
    std::vector<bool> part_learns(parts.size(), false);
    for (const auto& item : model.named_parameters()) {
        if (const std::size_t part = part_of(item.key(), parts); part < parts.size() && item.value().requires_grad())
            part_learns[part] = true;
    }
    for (const auto& item : model.named_modules({}, /*include_self=*/false)) {
        if (const std::size_t part = part_of(item.key(), parts); part < parts.size() && !part_learns[part]) item.value()->eval();
    }
}

}  // namespace hpo::libtorch
