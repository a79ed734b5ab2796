// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/history.hpp"
#include "hpo/core/plan_fields.hpp"
#include "hpo/core/trial.hpp"
#include "hpo/store/sqlite_connection.hpp"

namespace hpo::store {

// Attempts, failures, memory marks and rejections as rows of the hpo_ tables. Every member has a column;
// plan_json holds the plan of an attempt again, whole.

inline constexpr std::array<std::string_view, 4> outcome_names{"complete", "stopped", "failed", "interrupted"};
[[nodiscard]] constexpr std::string_view to_text(OutcomeKind kind) { return outcome_names[static_cast<std::size_t>(kind)]; }
[[nodiscard]] constexpr std::optional<OutcomeKind> outcome_kind(std::string_view text) {
    for (std::size_t i = 0; i < outcome_names.size(); ++i) {
        if (outcome_names[i] == text) return static_cast<OutcomeKind>(i);
    }
    return std::nullopt;
}

[[nodiscard]] std::string parts_text(const std::vector<EstimatePart>& parts);
[[nodiscard]] std::vector<EstimatePart> parse_parts(std::string_view text);
[[nodiscard]] std::optional<std::string> neighbours_text(const std::vector<MemoryNeighbour>& neighbours);
[[nodiscard]] std::vector<MemoryNeighbour> parse_neighbours(std::string_view text);
[[nodiscard]] std::optional<std::string> maybe_time_text(const std::optional<Time>& time);

/// NULL for an empty text.
[[nodiscard]] std::optional<std::string> known_text(const std::string& text);

/// Eight columns from `first`: allocated, reserved, free, capacity, limit, peak allocated, peak reserved, neighbours.
[[nodiscard]] MemoryReading read_memory(const Rows& row, int first);
/// Six columns from `first`: predicted, comfort, source, confidence, cap, parts; nothing without a source.
[[nodiscard]] std::optional<Estimate> read_estimate(const Rows& row, int first);

/// The columns of hpo_attempts, in the order in which they are written and read: those before the plan's, then one for each
/// member of the plan.
inline constexpr std::array<std::string_view, 24> attempt_columns{"trial_id",
                                                                  "attempt",
                                                                  "outcome",
                                                                  "decision",
                                                                  "started_at",
                                                                  "seconds",
                                                                  "worker_pid",
                                                                  "approximate",
                                                                  "changed_params",
                                                                  "predicted_bytes",
                                                                  "comfort_bytes",
                                                                  "estimate_source",
                                                                  "estimate_confidence",
                                                                  "estimate_cap_bytes",
                                                                  "estimate_parts",
                                                                  "peak_allocated_bytes",
                                                                  "peak_reserved_bytes",
                                                                  "plan_json",
                                                                  "capacity_bytes",
                                                                  "fresh_worker",
                                                                  "resumed_step",
                                                                  "checkpoint_step",
                                                                  "device_name",
                                                                  "model_family"};
/// `each(name)` for every column.
template <class Each>
void each_attempt_column(Each&& each) {
    for (const std::string_view name : attempt_columns) each(name);
    each_plan_field([&](const auto& field) { each(field.key); });
}
[[nodiscard]] const char* attempt_upsert();

void write_failure(Connection& connection, std::int64_t trial_id, int attempt, const Failure& failure);

/// Stores a mark unless that moment of the attempt has one already.
void write_mark(Connection& connection, std::int64_t trial_id, int attempt, const MemoryMark& mark);

/// Stores what is known of an attempt now. Marks and reports that were stored before stay.
void write_attempt(Connection& connection, std::int64_t trial_id, const Attempt& attempt);

void write_rejection(Connection& connection, std::int64_t study_id, const Rejection& rejection);

}  // namespace hpo::store

#ifndef HPO_COMPILED
#include "hpo/store/impl/attempt_rows_inl.hpp"
#endif
