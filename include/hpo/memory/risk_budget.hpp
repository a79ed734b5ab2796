// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "hpo/core/history.hpp"
#include "hpo/memory/residual_observation.hpp"

namespace hpo::memory {

/// True for an attempt that was launched although it may well not fit: its estimate is all of the device, at less than the confidence that
/// the guard otherwise keeps to.
[[nodiscard]] inline bool is_venture(const Attempt& attempt, double risk) {
    return attempt.estimate && attempt.capacity_bytes && attempt.estimate->need == attempt.capacity_bytes &&
           attempt.estimate->confidence > 0 && attempt.estimate->confidence < 1 - risk - 1e-9;
}

/// What is left of a study's risk, as a number of attempts that may run out of memory.
///
/// Each attempt that is predicted to leave a fifth of the device free or more puts in `risk`, one that leaves less puts in less in
/// proportion, where it ended well or was pruned; a venture takes out the probability that it does not fit, and whatever ran out of memory
/// of its own doing takes out 1. While no venture is likelier to fail than what is left, ventures do not raise the expected share of
/// attempts that run out of memory above `risk`. O(attempts).
[[nodiscard]] inline double unspent_risk(const History& history, double risk) {
    constexpr double free_share = 0.2;
    double unspent = 0;
    for (const Trial& trial : history.trials) {
        for (const Attempt& attempt : trial.attempts) {
            if (!attempt.estimate || !attempt.estimate->need || !attempt.capacity_bytes) continue;
            if (least_need(attempt)) {
                unspent -= 1;
            } else if (is_venture(attempt, risk)) {
                unspent -= 1 - attempt.estimate->confidence;
            } else if (attempt.outcome == OutcomeKind::complete || attempt.outcome == OutcomeKind::stopped) {
                const double taken = static_cast<double>(*attempt.estimate->need) / static_cast<double>(*attempt.capacity_bytes);
                unspent += risk * std::clamp((1 - taken) / free_share, 0.0, 1.0);
            }
        }
    }
    return unspent;
}

}  // namespace hpo::memory
