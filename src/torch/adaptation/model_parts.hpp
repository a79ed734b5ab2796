// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hpo::libtorch {

/// True for a part's own name and for names below it: "layer.1" contains "layer.1.weight", but not "layer.10.weight". A part of several
/// modules is their names with spaces between.
[[nodiscard]] bool lies_in(std::string_view name, std::string_view part);

/// The index of a parameter's or module's part. Returns `parts.size()` if it is in none.
[[nodiscard]] inline std::size_t part_of(std::string_view name, const std::vector<std::string>& parts) {
    const auto found = std::find_if(parts.begin(), parts.end(), [&](const std::string& part) { return lies_in(name, part); });
    return static_cast<std::size_t>(found - parts.begin());
}

/// Each parameter once, under its first name. LibTorch lists a shared parameter with each of its modules.
[[nodiscard]] std::vector<std::pair<std::string, torch::Tensor>> distinct_parameters(const torch::nn::Module& model);

/// True when a parameter of the module gets a gradient.
[[nodiscard]] inline bool learns(const torch::nn::Module& module) {
    const auto parameters = module.parameters();
    return std::any_of(parameters.begin(), parameters.end(), [](const torch::Tensor& each) { return each.requires_grad(); });
}

/// Throws Error{plugin} unless every parameter lies in one of the parts. Accepts an empty list of parts.
void check_parts(const torch::nn::Module& model, const std::vector<std::string>& parts);

/// Puts the model into training mode, except for the parts that do not learn. These run as in an evaluation: without dropout and with the
/// running statistics that they came with.
void enter_training(torch::nn::Module& model, const std::vector<std::string>& parts);

}  // namespace hpo::libtorch
