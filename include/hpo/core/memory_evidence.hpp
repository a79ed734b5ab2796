// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "hpo/core/memory_reading.hpp"
#include "hpo/core/peak_prediction.hpp"
#include "hpo/core/profile.hpp"

namespace hpo {

/// What workers found out about an attempt's memory, for a guard that asked for Evidence.
struct MemoryEvidence {
    std::optional<Profile> profile;
    std::optional<PeakPrediction> prediction;
    std::optional<MemoryReading> device{};  ///< capacity, and `free`: what processes outside the study leave free now
    bool cannot_run = false;                ///< the attempt ends in an error on its device, and `remark` says which
    std::string remark{};                   ///< why there is less evidence than was asked for; empty: there is not
};

}  // namespace hpo
