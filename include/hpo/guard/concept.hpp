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

/// An attempt whose memory a guard shall estimate.
struct MemoryQuery {
    const ParamSet& params;
    const ExecutionPlan& plan;
    const Profile* profile = nullptr;            ///< null unless the guard asked for Evidence and the trainer provided it
    std::optional<std::int64_t> capacity_bytes;  ///< of the plan's device; nullopt: not limited
    const History& history;
    const PeakPrediction* prediction = nullptr;  ///< of this plan; null unless the guard asked for it and the trainer provided it
    RunsOn runs_on{};
    bool smallest_plan = false;             ///< no smaller plan will be tried: a proposal that does not fit is refused
    const MemoryReading* device = nullptr;  ///< MemoryEvidence::device; null unless the guard looks at it and the device can be asked
};

/// Estimates an attempt's peak memory before launch. A pure function of the query.
template <class G>
concept MemoryGuard = std::movable<G> && requires(const G& guard, const MemoryQuery& query) {
    { guard.estimate(query) } -> std::same_as<Estimate>;
    { guard.evidence() } -> std::same_as<Evidence>;
};

/// A guard that may look at MemoryQuery::device. `room` says how many bytes of the device the attempt may have now. Its need must fit both
/// this and the capacity. Nullopt means no limit. A pure function of the query, as `estimate` is.
template <class G>
concept LookingGuard = MemoryGuard<G> && requires(const G& guard, const MemoryQuery& query) {
    { guard.looks() } -> std::same_as<bool>;
    { guard.room(query) } -> std::same_as<std::optional<std::int64_t>>;
};

/// True if a guard must be given MemoryQuery::device.
template <MemoryGuard G>
[[nodiscard]] bool looks(const G& guard) {
    if constexpr (LookingGuard<G>) return guard.looks();
    else return false;
}
/// A LookingGuard's room; nullopt for other guards.
template <MemoryGuard G>
[[nodiscard]] std::optional<std::int64_t> room(const G& guard, const MemoryQuery& query) {
    if constexpr (LookingGuard<G>) return guard.room(query);
    else return std::nullopt;
}

/// A guard that asks for weaker evidence than evidence() for some attempts. A pure function of the query, which has no evidence yet.
template <class G>
concept ChoosingGuard = MemoryGuard<G> && requires(const G& guard, const MemoryQuery& query) {
    { guard.evidence(query) } -> std::same_as<Evidence>;
};

/// The evidence that the guard wants for an attempt.
template <MemoryGuard G>
[[nodiscard]] Evidence evidence_for(const G& guard, const MemoryQuery& query) {
    if constexpr (ChoosingGuard<G>) return guard.evidence(query);
    else return guard.evidence();
}

/// A guard that may ask for History::other_studies.
template <class G>
concept CarryingGuard = MemoryGuard<G> && requires(const G& guard) {
    { guard.carries() } -> std::same_as<bool>;
};

/// True if a guard learns from measurements of other studies in the store.
template <MemoryGuard G>
[[nodiscard]] bool carries(const G& guard) {
    if constexpr (CarryingGuard<G>) return guard.carries();
    else return false;
}

/// A guard whose estimate may rest on the study's own attempts alone, so that each further one changes it.
template <class G>
concept RelearningGuard = MemoryGuard<G> && requires(const G& guard, const Estimate& estimate) {
    { guard.relearns(estimate) } -> std::same_as<bool>;
};

/// True if a guard should be asked again, once further attempts have ended, about an attempt that waits with this estimate.
template <MemoryGuard G>
[[nodiscard]] bool relearns(const G& guard, const Estimate& estimate) {
    if constexpr (RelearningGuard<G>) return guard.relearns(estimate);
    else return false;
}

}  // namespace hpo
