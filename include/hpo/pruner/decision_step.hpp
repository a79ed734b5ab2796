// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <iterator>

#include "hpo/pruner/concept.hpp"

namespace hpo::pruner {

/// True for the first report at or after each step warmup_steps + k * interval_steps.
[[nodiscard]] inline bool is_decision_step(const PruneQuery& query, std::int64_t warmup_steps, std::int64_t interval_steps) {
    if (query.step < warmup_steps) return false;
    const std::int64_t since = (query.step - warmup_steps) / interval_steps * interval_steps;
    const auto& reports = query.trial.intermediate;
    const auto latest = reports.lower_bound(query.step);
    return latest == reports.begin() || std::prev(latest)->first < warmup_steps + since;
}

}  // namespace hpo::pruner
