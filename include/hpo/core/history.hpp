// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "hpo/core/study.hpp"
#include "hpo/core/trial.hpp"

namespace hpo {

/// A proposal that was refused before launch: it has no trial number, costs no device second, and is an infeasible
/// observation to the sampler.
struct Rejection {
    ParamSet params;
    std::optional<Estimate> estimate;
    double violation = 0;  ///< need / capacity - 1, above 0
    std::string reason;
    Time at{};
    ExecutionPlan plan{};                          ///< the smallest that was tried
    std::optional<std::int64_t> capacity_bytes{};  ///< of the plan's device; nothing: not limited
};

/// What policies may see: everything that has happened, nothing that they could change. Trials are ordered by number;
/// running ones are among them. The view is valid during the call that received it.
struct History {
    std::string_view study;
    std::span<const Direction> directions;
    std::span<const Trial> trials;
    std::span<const Rejection> rejections;
    /// What ended in other studies of the store on the same device, from the oldest, as Store::attempts_elsewhere reads it; for guards
    /// that carry.
    std::span<const Attempt> elsewhere{};
    static constexpr std::size_t most_elsewhere = 5000;
};

}  // namespace hpo
