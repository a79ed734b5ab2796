// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "hpo/allocator/reduction_staging.hpp"

namespace hpo::libtorch {

/// The reduction of a tensor over some of its dimensions, over all if there are none.
[[nodiscard]] allocator::Reduction reduction_of(const torch::Tensor& input, std::vector<std::int64_t> dimensions);

}  // namespace hpo::libtorch
