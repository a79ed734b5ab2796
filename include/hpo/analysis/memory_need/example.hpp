// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "hpo/core/param_set.hpp"

namespace hpo::analysis {

/// One trial for the learner.
struct Example {
    const ParamSet* params = nullptr;
    bool positive = false;
    std::optional<double> peak_bytes;  ///< the measured need, if there is one
};

}  // namespace hpo::analysis
