// SPDX-License-Identifier: MIT
#include "hpo/trainer/objectives.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/core/field.hpp"

namespace hpo::detail {

/// Returns nullopt if the trainer did not tell the metric, or if its value is no number.
[[nodiscard]] std::optional<double> value_of_metric(const std::string& metric, const AttemptOutcome& outcome) {
    if (const auto told = outcome.attributes.find(metric); told != outcome.attributes.end())
        return field_traits<double>::parse(told->second);
    const auto peak = outcome.peak_reserved ? outcome.peak_reserved : outcome.peak_allocated;
    if (metric == "seconds") return outcome.seconds;
    if (metric == "peak_memory_bytes" && peak) return static_cast<double>(*peak);
    return std::nullopt;
}

}  // namespace hpo::detail

namespace hpo {

void complete_values(AttemptOutcome& outcome, const TrainerJob& job) {
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
