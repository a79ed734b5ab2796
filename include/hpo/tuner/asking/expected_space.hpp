// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

#include "hpo/core/trial.hpp"
#include "hpo/space/space_trial.hpp"

namespace hpo::tuner::inline asking {

/// How many of the latest finished trials `ask_expected` compares.
inline constexpr std::size_t most_compared_trials = 200;

/// The space of a study whose trials ask for their parameters while they run, as far as the `earlier` trials show it. It draws what the
/// most similar of the latest trials asked for. Trials are similar that agree in parameters that decide what follows: `classifier` decides
/// whether `svc_c` follows, and `batch` does not. An expectation may be wrong. Then a trial draws the missing parameters when it asks for
/// them. O(parameters^2 * most_compared_trials).
void ask_expected(SpaceTrial& trial, std::span<const Trial> earlier);

}  // namespace hpo::tuner::asking

#ifndef HPO_COMPILED
#include "hpo/tuner/asking/impl/expected_space_inl.hpp"
#endif
