// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "hpo/core/memory_reading.hpp"
#include "hpo/core/peak_prediction.hpp"
#include "hpo/core/profile.hpp"

namespace hpo {

/// What workers told of an attempt's memory, for a guard that asked for some Evidence.
struct MemoryEvidence {
    std::optional<Profile> profile;
    std::optional<PeakPrediction> prediction;
    std::optional<MemoryReading> device{};  ///< capacity, and `free`: what processes other than the study's leave of it now
    std::string remark{};                   ///< why there is less than was asked for; empty: there is not
};

}  // namespace hpo
