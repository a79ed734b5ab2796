// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/trainer/trainer.hpp"

namespace hpo {

/// What is measured of every attempt of any trainer: its duration, and its peak memory on the device. A study may have these as objectives
/// beside the trainer's metrics.
inline constexpr std::array<std::string_view, 2> measured_metrics{"seconds", "peak_memory_bytes"};

[[nodiscard]] inline bool is_measured(std::string_view metric) {
    return std::find(measured_metrics.begin(), measured_metrics.end(), metric) != measured_metrics.end();
}

/// The objective that a trainer reports and returns: the first one that is not measured. Empty if all are measured.
[[nodiscard]] inline std::string reported_metric(const std::vector<std::string>& objectives) {
    const auto found = std::find_if_not(objectives.begin(), objectives.end(), is_measured);
    return found == objectives.end() ? std::string{} : *found;
}

/// Gives a complete outcome one value for each of the job's objectives. A trainer may return all of them in order. If it returns only the
/// job's metric, it tells the other values as attributes of their names. Measured values are added here. If a value is missing, the outcome
/// becomes a failure.
void complete_values(AttemptOutcome& outcome, const TrainerJob& job);

}  // namespace hpo
