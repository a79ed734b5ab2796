// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "hpo/core/trial.hpp"

namespace hpo::tuner {

/// Says in words how far a predicted peak was from what the attempt took. Returns nullopt unless the difference is above a tenth and above
/// 1 MiB. Only attempts that completed or ran out of memory can tell the difference. For any other attempt it returns nullopt too.
///
/// The measurement is compared with the prediction for the allocator alone: without the guard's margin and without the device's context,
/// which lies outside of the allocator. Any measurement from need to comfort agrees with the prediction. The attempt may or may not have
/// used memory that its process held before or after it. The smaller difference counts.
[[nodiscard]] std::optional<std::string> prediction_miss(const Attempt& attempt);

}  // namespace hpo::tuner

#ifndef HPO_COMPILED
#include "hpo/tuner/impl/prediction_miss_inl.hpp"
#endif
