// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "hpo/core/error.hpp"

namespace hpo::torch {

/// True for a part's own name and for what lies below it: "layer.1" has "layer.1.weight", not "layer.10.weight". A part of several
/// modules is their names with a space between.
[[nodiscard]] inline bool lies_in(std::string_view name, std::string_view part) {
    const std::string_view first = part.substr(0, part.find(' '));
    if (name.starts_with(first) && (name.size() == first.size() || name[first.size()] == '.')) return true;
    return first.size() < part.size() && lies_in(name, part.substr(first.size() + 1));
}

/// The index of the part that a parameter or module lies in; `parts.size()` for none.
[[nodiscard]] inline std::size_t part_of(std::string_view name, const std::vector<std::string>& parts) {
    const auto found = std::find_if(parts.begin(), parts.end(), [&](const std::string& part) { return lies_in(name, part); });
    return static_cast<std::size_t>(found - parts.begin());
}

/// Each parameter once, under the first of its names: LibTorch lists one that several modules share with each of them.
[[nodiscard]] inline std::vector<std::pair<std::string, ::torch::Tensor>> distinct_parameters(const ::torch::nn::Module& model) {
    std::unordered_set<const void*> seen;
    std::vector<std::pair<std::string, ::torch::Tensor>> distinct;
    for (const auto& item : model.named_parameters()) {
        if (seen.insert(item.value().unsafeGetTensorImpl()).second) distinct.emplace_back(item.key(), item.value());
    }
    return distinct;
}

/// True when a parameter of the module gets a gradient.
[[nodiscard]] inline bool learns(const ::torch::nn::Module& module) {
    const auto parameters = module.parameters();
    return std::any_of(parameters.begin(), parameters.end(), [](const ::torch::Tensor& each) { return each.requires_grad(); });
}

/// Throws Error, for a mistake of the plugin, unless every parameter lies in one of the parts that it names (or it names none).
inline void check_parts(const ::torch::nn::Module& model, const std::vector<std::string>& parts) {
    if (parts.empty()) return;
    for (const auto& item : model.named_parameters()) {
        if (part_of(item.key(), parts) < parts.size()) continue;
        throw Error{Errc::plugin, "the parameter '" + item.key() + "' lies in none of the model's parts; known: " + join_names(parts)};
    }
}

/// Training mode for the model, except for what lies in a part that learns nothing: that runs as in an evaluation, without dropout and
/// with the running statistics that it came with.
inline void enter_training(::torch::nn::Module& model, const std::vector<std::string>& parts) {
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

}  // namespace hpo::torch
