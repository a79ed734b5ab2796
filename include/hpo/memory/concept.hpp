// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <optional>

#include "hpo/core/estimate.hpp"
#include "hpo/core/history.hpp"
#include "hpo/core/plan.hpp"
#include "hpo/core/profile.hpp"

namespace hpo {

/// An attempt whose memory is to be predicted.
struct MemoryQuery {
    const ParamSet& params;
    const ExecutionPlan& plan;
    const Profile* profile = nullptr;            ///< null unless the guard asked for Evidence::shape and the trainer gave it
    std::optional<std::int64_t> capacity_bytes;  ///< of the plan's device; nothing: not limited
    const History& history;
};

/// Predicts an attempt's peak memory before launch: a pure function of the query.
template <class G>
concept MemoryGuard = std::movable<G> && requires(const G& guard, const MemoryQuery& query) {
    { guard.estimate(query) } -> std::same_as<Estimate>;
    { guard.evidence() } -> std::same_as<Evidence>;
};

}  // namespace hpo
