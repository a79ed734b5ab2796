// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <optional>

#include "hpo/core/estimate.hpp"
#include "hpo/core/history.hpp"
#include "hpo/core/memory_reading.hpp"
#include "hpo/core/peak_prediction.hpp"
#include "hpo/core/plan.hpp"
#include "hpo/core/profile.hpp"
#include "hpo/core/runs_on.hpp"

namespace hpo {

/// An attempt whose memory is to be predicted.
struct MemoryQuery {
    const ParamSet& params;
    const ExecutionPlan& plan;
    const Profile* profile = nullptr;            ///< null unless the guard asked for Evidence and the trainer gave this
    std::optional<std::int64_t> capacity_bytes;  ///< of the plan's device; nothing: not limited
    const History& history;
    const PeakPrediction* prediction = nullptr;  ///< of this plan; null as `profile` is
    RunsOn runs_on{};
    bool smallest_plan = false;             ///< nothing smaller will be tried: what does not fit is refused
    const MemoryReading* device = nullptr;  ///< MemoryEvidence::device; null unless the guard looks at it and it answers
};

/// Predicts an attempt's peak memory before launch: a pure function of the query.
template <class G>
concept MemoryGuard = std::movable<G> && requires(const G& guard, const MemoryQuery& query) {
    { guard.estimate(query) } -> std::same_as<Estimate>;
    { guard.evidence() } -> std::same_as<Evidence>;
};

/// A guard that may look at MemoryQuery::device, and answer how much of it an attempt may have now: the room that its need is held
/// against, besides the capacity. Nothing: not bounded. A pure function of the query, as `estimate` is.
template <class G>
concept LookingGuard = MemoryGuard<G> && requires(const G& guard, const MemoryQuery& query) {
    { guard.looks() } -> std::same_as<bool>;
    { guard.room(query) } -> std::same_as<std::optional<std::int64_t>>;
};

/// Whether a guard is to be told MemoryQuery::device.
template <MemoryGuard G>
[[nodiscard]] bool looks(const G& guard) {
    if constexpr (LookingGuard<G>) return guard.looks();
    else return false;
}
/// LookingGuard's room; nothing for other guards.
template <MemoryGuard G>
[[nodiscard]] std::optional<std::int64_t> room(const G& guard, const MemoryQuery& query) {
    if constexpr (LookingGuard<G>) return guard.room(query);
    else return std::nullopt;
}

/// A guard that asks for weaker evidence of some attempts than its evidence() is. A pure function of the query, whose evidence is missing.
template <class G>
concept ChoosingGuard = MemoryGuard<G> && requires(const G& guard, const MemoryQuery& query) {
    { guard.evidence(query) } -> std::same_as<Evidence>;
};

/// What the guard wants to be told of an attempt.
template <MemoryGuard G>
[[nodiscard]] Evidence evidence_for(const G& guard, const MemoryQuery& query) {
    if constexpr (ChoosingGuard<G>) return guard.evidence(query);
    else return guard.evidence();
}

/// A guard that may ask for History::elsewhere.
template <class G>
concept CarryingGuard = MemoryGuard<G> && requires(const G& guard) {
    { guard.carries() } -> std::same_as<bool>;
};

/// Whether a guard learns from what other studies of the store have measured.
template <MemoryGuard G>
[[nodiscard]] bool carries(const G& guard) {
    if constexpr (CarryingGuard<G>) return guard.carries();
    else return false;
}

}  // namespace hpo
