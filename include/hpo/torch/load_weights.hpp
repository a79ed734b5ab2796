// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/weights/weights.hpp"

namespace hpo::torch {

/// LibTorch's type for a stored one; nothing where it has none.
[[nodiscard]] std::optional<::torch::ScalarType> scalar_type(weights::Dtype dtype);

namespace detail {

/// A tensor of a module and the stored one that it is filled from.
struct Filling {
    ::torch::Tensor target;
    const weights::Tensor* stored;
    std::string who;  ///< file and tensor, for errors
};

/// The fillings that load_weights makes, with its errors.
[[nodiscard]] std::vector<Filling> plan_fillings(const ::torch::nn::Module& module, const weights::Weights& weights,
                                                 const std::string& prefix, std::string_view superfluous);

void fill(std::vector<Filling>& fillings);

}  // namespace detail

/// Gives each parameter and buffer of a module the numbers of the stored tensor of its name, with `prefix` before it; floating types
/// are converted. Throws Error naming file and tensor, and changes nothing then, when one is missing or of another shape or type, or
/// when the file has weights that the module ought to have: below `prefix` and the name of one of the module's children.
/// It throws, with some of the module filled, for weights that are infinite or NaN.
/// Stored tensors elsewhere (a pooler, a head) are passed over, and so are whole numbers (`position_ids`), which are no weights, and
/// the one named `superfluous`.
inline void load_weights(::torch::nn::Module& module, const weights::Weights& weights, const std::string& prefix = {},
                         std::string_view superfluous = {}) {
    auto fillings = detail::plan_fillings(module, weights, prefix, superfluous);
    detail::fill(fillings);
}

/// As load_weights, for a file that holds this module and nothing else. Throws Error, and changes nothing then, also for weights that have
/// no place in it. What lies below `passed_over`, one of the module's children, is left as it is, whatever the file has of it.
void load_whole(::torch::nn::Module& module, const weights::Weights& weights, const std::string& passed_over = {});

}  // namespace hpo::torch

#ifndef HPO_COMPILED
#include "hpo/torch/impl/load_weights_inl.hpp"
#endif
