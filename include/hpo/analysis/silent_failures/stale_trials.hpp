// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "hpo/analysis/failure_cases/failure_case.hpp"
#include "hpo/analysis/silent_failures/pace.hpp"

namespace hpo::analysis {

/// A trial of another program that is still RUNNING in the store, long after it began. Its process is probably gone.
struct StaleTrial {
    const Trial* trial = nullptr;
    double seconds = 0;                  ///< from its start to the study's last entry, and on to now if nothing was stored after its start
    std::size_t ended_meanwhile = 0;     ///< trials that began after it and ended; 0: nothing was stored after its start
    std::optional<double> idle_seconds;  ///< from its start, after which no other trial ran, to the next trial's start, or to now
};

/// The keys (Trial::id) of trials that are RUNNING in the store, but whose run of hpo is gone.
using AbandonedTrials = std::set<std::int64_t>;

/// Finds trials that have been RUNNING for more than three times as long as any finished trial took. The clock is the study's last entry,
/// so a study that is no longer in use does not get older, if trials that began later have ended. Otherwise the time since the last write
/// of the store counts, `silent_seconds`; without it, such a trial is not found. A copy of the file is written when it is made, so a short
/// silence proves nothing: a trial that is not found may still run, or not. A study of which no trial has ended must be silent for an
/// hour.
[[nodiscard]] std::vector<StaleTrial> stale_trials(std::span<const Trial> trials, std::optional<double> silent_seconds = {});

}  // namespace hpo::analysis
