// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/core/field.hpp"
#include "hpo/trainer/trainer.hpp"

namespace hpo {

/// What is measured of every attempt, whatever its trainer: how long it took, and the most that it held of its device. A study may have
/// these as objectives beside its trainer's metrics.
inline constexpr std::array<std::string_view, 2> measured_metrics{"seconds", "peak_memory_bytes"};

[[nodiscard]] inline bool is_measured(std::string_view metric) {
    return std::find(measured_metrics.begin(), measured_metrics.end(), metric) != measured_metrics.end();
}

/// The objective that a trainer reports and returns: the first that is not measured; empty where all are.
[[nodiscard]] inline std::string reported_metric(const std::vector<std::string>& objectives) {
    const auto found = std::find_if_not(objectives.begin(), objectives.end(), is_measured);
    return found == objectives.end() ? std::string{} : *found;
}

namespace detail {

/// Nothing where nobody told it, or where it is no number.
[[nodiscard]] inline std::optional<double> value_of_metric(const std::string& metric, const AttemptOutcome& outcome) {
    if (const auto told = outcome.attributes.find(metric); told != outcome.attributes.end())
        return field_traits<double>::parse(told->second);
    const auto peak = outcome.peak_reserved ? outcome.peak_reserved : outcome.peak_allocated;
    if (metric == "seconds") return outcome.seconds;
    if (metric == "peak_memory_bytes" && peak) return static_cast<double>(*peak);
    return std::nullopt;
}

}  // namespace detail

/// Gives a complete outcome one value for each of the job's objectives. A trainer may return them all, in their order. One that returns the
/// job's metric alone tells the others as attributes of their names; measured ones are added. An outcome that lacks one has failed.
inline void complete_values(AttemptOutcome& outcome, const TrainerJob& job) {
    const bool returns_all = job.objectives.size() < 2 || outcome.values.size() != 1;
    if (outcome.kind != OutcomeKind::complete || returns_all) return;
    std::vector<double> values;
    for (const std::string& objective : job.objectives) {
        const auto value = objective == job.metric ? std::optional{outcome.values[0]} : detail::value_of_metric(objective, outcome);
        if (value) {
            values.push_back(*value);
            continue;
        }
        outcome.kind = OutcomeKind::failed;
        outcome.failure = Failure{.kind = FailureKind::trainer_error,
                                  .message = "the trainer told no number for the objective '" + objective + "'",
                                  .where = "objective"};
        return;
    }
    outcome.values = std::move(values);
}

}  // namespace hpo
