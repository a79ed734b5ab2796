// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/weights/weights.hpp"

namespace hpo::libtorch {

/// LibTorch's type for a stored type. Returns nullopt if LibTorch has none.
[[nodiscard]] std::optional<torch::ScalarType> scalar_type(weights::Dtype dtype);

namespace detail {

/// A tensor of a module, and the stored tensor whose numbers it gets.
struct Filling {
    torch::Tensor target;
    const weights::Tensor* stored;
    std::string who;  ///< file and tensor, for errors
};

/// The fillings of load_weights. Throws the same errors.
[[nodiscard]] std::vector<Filling> plan_fillings(const torch::nn::Module& module, const weights::Weights& weights,
                                                 const std::string& prefix, std::string_view superfluous);

void fill(std::vector<Filling>& fillings);

}  // namespace detail

/// Copies stored weights into a module. Each parameter and buffer gets the numbers of the stored tensor with its name after `prefix`.
/// Floating types are converted.
///
/// Throws Error with file and tensor if a stored tensor is missing or has another shape or type. Also throws for a stored weight below
/// `prefix` and the name of one of the module's children if the module lacks it. In both cases the module is unchanged. Throws as well for
/// infinite weights and NaN. Some of the module is then already filled.
///
/// Ignores other stored tensors (a pooler, a head), whole numbers (`position_ids`), which are not weights, and the tensor named
/// `superfluous`.
inline void load_weights(torch::nn::Module& module, const weights::Weights& weights, const std::string& prefix = {},
                         std::string_view superfluous = {}) {
    auto fillings = detail::plan_fillings(module, weights, prefix, superfluous);
    detail::fill(fillings);
}

/// As load_weights, for a file that holds exactly this module. Also throws Error for stored weights without a place in the module, which is
/// then unchanged. The child named `passed_over` stays as it is, whatever the file holds for it.
void load_whole(torch::nn::Module& module, const weights::Weights& weights, const std::string& passed_over = {});

}  // namespace hpo::libtorch
