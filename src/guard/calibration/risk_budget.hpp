// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "hpo/core/history.hpp"
#include "hpo/guard/calibration/observation.hpp"

namespace hpo::guard {

/// True for an attempt that was launched although it may well not fit. Its estimate is the whole device, at a confidence below the guard's
/// usual one.
[[nodiscard]] inline bool is_venture(const Attempt& attempt, double risk) {
    return attempt.estimate && attempt.capacity_bytes && attempt.estimate->need == attempt.capacity_bytes &&
           attempt.estimate->confidence > 0 && attempt.estimate->confidence < 1 - risk - 1e-9;
}

/// The unspent risk of a study, as a number of attempts that may run out of memory.
///
/// - An attempt that was estimated to leave at least a fifth of the device free adds `risk` if it completed or was pruned. An attempt that
///   left less adds less, in proportion.
/// - A venture takes away the probability that it does not fit.
/// - An attempt that ran out of memory because of its own configuration takes away 1.
///
/// The expected share of attempts that run out of memory stays at `risk` as long as no venture risks more than what is left. O(attempts).
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

}  // namespace hpo::guard
