// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hpo::torch {

/// True for a part's own name and for what lies below it: "layer.1" has "layer.1.weight", not "layer.10.weight". A part of several
/// modules is their names with a space between.
[[nodiscard]] bool lies_in(std::string_view name, std::string_view part);

/// The index of the part that a parameter or module lies in; `parts.size()` for none.
[[nodiscard]] inline std::size_t part_of(std::string_view name, const std::vector<std::string>& parts) {
    const auto found = std::find_if(parts.begin(), parts.end(), [&](const std::string& part) { return lies_in(name, part); });
    return static_cast<std::size_t>(found - parts.begin());
}

/// Each parameter once, under the first of its names: LibTorch lists one that several modules share with each of them.
[[nodiscard]] std::vector<std::pair<std::string, ::torch::Tensor>> distinct_parameters(const ::torch::nn::Module& model);

/// True when a parameter of the module gets a gradient.
[[nodiscard]] inline bool learns(const ::torch::nn::Module& module) {
    const auto parameters = module.parameters();
    return std::any_of(parameters.begin(), parameters.end(), [](const ::torch::Tensor& each) { return each.requires_grad(); });
}

/// Throws Error, for a mistake of the plugin, unless every parameter lies in one of the parts that it names (or it names none).
void check_parts(const ::torch::nn::Module& model, const std::vector<std::string>& parts);

/// Training mode for the model, except for what lies in a part that learns nothing: that runs as in an evaluation, without dropout and
/// with the running statistics that it came with.
void enter_training(::torch::nn::Module& model, const std::vector<std::string>& parts);

}  // namespace hpo::torch

#ifndef HPO_COMPILED
#include "hpo/torch/impl/model_parts_inl.hpp"
#endif
