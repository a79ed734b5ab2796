// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/history.hpp"
#include "hpo/core/trial.hpp"
#include "hpo/store/sqlite/connection.hpp"

namespace hpo::store {

// Attempts, failures, memory marks and rejections as rows of the hpo_ tables. Every member has a column.

[[nodiscard]] std::string parts_text(const std::vector<EstimatePart>& parts);
[[nodiscard]] std::vector<EstimatePart> parse_parts(std::string_view text);
[[nodiscard]] std::optional<std::string> neighbours_text(const std::vector<MemoryNeighbour>& neighbours);
[[nodiscard]] std::vector<MemoryNeighbour> parse_neighbours(std::string_view text);
[[nodiscard]] std::optional<std::string> maybe_time_text(const std::optional<Time>& time);

/// The text, or nullopt (NULL) if it is empty.
[[nodiscard]] std::optional<std::string> known_text(const std::string& text);

/// Reads eight columns from `first` on: allocated, reserved, free, capacity, limit, peak allocated, peak reserved, neighbours.
[[nodiscard]] MemoryReading read_memory(const Rows& row, int first);
/// Reads six columns from `first` on: predicted, comfort, source, confidence, cap, parts. Returns nullopt if there is no source.
[[nodiscard]] std::optional<Estimate> read_estimate(const Rows& row, int first);

/// The columns that only hpo_attempts and only hpo_rejections have, in the order in which they are written and read. In both tables, what
/// the guard planned follows: planned_columns, and one column for each member of the plan.
inline constexpr std::array<std::string_view, 16> attempt_columns{"trial_id",
                                                                  "attempt",
                                                                  "outcome",
                                                                  "decision",
                                                                  "started_at",
                                                                  "seconds",
                                                                  "worker_pid",
                                                                  "approximate",
                                                                  "changed_params",
                                                                  "peak_allocated_bytes",
                                                                  "peak_reserved_bytes",
                                                                  "fresh_worker",
                                                                  "resumed_step",
                                                                  "checkpoint_step",
                                                                  "device_name",
                                                                  "model_family"};
inline constexpr std::array<std::string_view, 5> rejection_columns{"study_id", "rejected_at", "reason", "violation", "params"};
inline constexpr std::array<std::string_view, 7> planned_columns{
    "predicted_bytes", "comfort_bytes", "estimate_source", "estimate_confidence", "estimate_cap_bytes", "estimate_parts", "capacity_bytes"};

/// "a.trial_id, a.attempt, ...": `columns` and those of what the guard planned, each after `before`.
[[nodiscard]] std::string columns_with_planned(std::span<const std::string_view> columns, std::string_view before = "");

[[nodiscard]] const char* attempt_upsert();

void write_failure(Connection& connection, std::int64_t trial_id, int attempt, const Failure& failure);

/// Stores a mark, unless the attempt already has one of the same moment.
void write_mark(Connection& connection, std::int64_t trial_id, int attempt, const MemoryMark& mark);

/// Stores what is now known of an attempt. Marks and reports that were stored before stay.
void write_attempt(Connection& connection, std::int64_t trial_id, const Attempt& attempt);

void write_rejection(Connection& connection, std::int64_t study_id, const Rejection& rejection);

}  // namespace hpo::store
