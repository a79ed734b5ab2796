// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string>

#include "hpo/core/trial.hpp"

namespace hpo::analysis {

/// A number that memory does not depend on, such as a learning rate, and that alone tells some trials from all others.
struct SeparatingBound {
    std::string param;
    bool above = true;  ///< the trials have the larger values
    double bound = 0;   ///< the value of theirs that is nearest to the others
};

/// The bound that tells `trials` from `others`. Nullopt if there is none. It takes three trials and ten
/// others, since chance makes one among fewer.
[[nodiscard]] std::optional<SeparatingBound> separating_bound(std::span<const Trial* const> trials, std::span<const Trial* const> others);

}  // namespace hpo::analysis
