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

/// A proposal that was refused before launch. It has no trial number and costs no device time. For the sampler it is an infeasible
/// observation.
struct Rejection {
    ParamSet params;
    std::optional<Estimate> estimate;
    double violation = 0;  ///< need / capacity - 1, above 0
    std::string reason;
    Time at{};
    ExecutionPlan plan{};                          ///< the smallest plan that was tried
    std::optional<std::int64_t> capacity_bytes{};  ///< of the plan's device; nullopt: not limited

    static constexpr void fields(auto field) {
        field("params", &Rejection::params);
        field("estimate", &Rejection::estimate);
        field("violation", &Rejection::violation);
        field("reason", &Rejection::reason);
        field("at", &Rejection::at, {.column = "rejected_at"});
        field("plan", &Rejection::plan);
        field("capacity_bytes", &Rejection::capacity_bytes, {.unit = Unit::bytes});
    }
};

/// What policies may see: everything that has happened, read-only. Trials are ordered by number and include the running ones. The view is
/// valid only during the call that received it.
struct History {
    std::string_view study;
    std::span<const Direction> directions;
    std::span<const Trial> trials;
    std::span<const Rejection> rejections;
    /// Attempts that ended in other studies of the store on the same device, the oldest first. Store::attempts_of_other_studies reads them.
    /// Only for guards that carry (CarryingGuard).
    std::span<const Attempt> other_studies{};
    static constexpr std::size_t most_from_other_studies = 5000;
    /// Trials of other studies that ran the same program with the same options, the oldest first (TuneOptions::same_program).
    std::span<const Trial> same_program{};
};

}  // namespace hpo
