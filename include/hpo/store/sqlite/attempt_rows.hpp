// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/history.hpp"
#include "hpo/core/trial.hpp"
#include "hpo/store/sqlite/connection.hpp"

namespace hpo::store {

// Attempts, failures, memory marks and rejections as rows of the hpo_ tables.

[[nodiscard]] std::string parts_text(const std::vector<EstimatePart>& parts);
[[nodiscard]] std::vector<EstimatePart> parse_parts(std::string_view text);
[[nodiscard]] std::optional<std::string> neighbours_text(const std::vector<MemoryNeighbour>& neighbours);
[[nodiscard]] std::vector<MemoryNeighbour> parse_neighbours(std::string_view text);
[[nodiscard]] std::optional<std::string> maybe_time_text(const std::optional<Time>& time);

void write_failure(Connection& connection, std::int64_t trial_id, int attempt, const Failure& failure);

/// Stores a mark, unless the attempt already has one of the same moment.
void write_mark(Connection& connection, std::int64_t trial_id, int attempt, const MemoryMark& mark);

/// Stores what is now known of an attempt. Marks and reports that were stored before stay.
void write_attempt(Connection& connection, std::int64_t trial_id, const Attempt& attempt);

void write_rejection(Connection& connection, std::int64_t study_id, const Rejection& rejection);

}  // namespace hpo::store
