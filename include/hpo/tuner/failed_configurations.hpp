// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "hpo/core/param_set.hpp"
#include "hpo/core/trial.hpp"

namespace hpo::tuner {

/// So many trials with the same parameters may fail in the same way. Then no other trial gets these parameters.
inline constexpr std::int64_t most_equal_failures = 3;

/// Says why a proposal is not worth another trial: `most_equal_failures` trials with these very parameters failed, each with the same
/// signature, and such a failure comes again (Recurrence::deterministic). Returns nullopt if it is worth one. Failures for which `counts`
/// is set and false do not count (TuneOptions::breaker_counts), nor do trials that a rule's own error ended. O(trials).
[[nodiscard]] std::optional<std::string> fails_again(const ParamSet& params, std::span<const Trial> trials,
                                                     const std::function<bool(const Failure&)>& counts = {});

/// False if it is plain from the trials' states that fails_again returns nullopt for all parameters. Also false if an enqueued trial waits,
/// which runs in any case. O(trials).
[[nodiscard]] bool may_be_exhausted(std::span<const Trial> trials);

}  // namespace hpo::tuner

#ifndef HPO_COMPILED
#include "hpo/tuner/impl/failed_configurations_inl.hpp"
#endif
