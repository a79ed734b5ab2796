// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyze/shown/input.hpp"
#include "analyze/shown/overview.hpp"
#include "analyze/shown/snapshot_report.hpp"

namespace hpo::analyze {

struct TrialsOptions {
    std::string state;      ///< only trials in this state; empty: all
    std::size_t limit = 0;  ///< the last so many; 0: all
};
struct BestOptions {
    std::size_t top = 1;
};
struct OomOptions {
    bool all_cases = false;  ///< every case with its evidence, not only a sample
};
struct MemoryOptions {
    std::optional<std::string> limit;  ///< "20GiB" or "90%"
    std::size_t top = 10;              ///< rows of a list
};
struct CompareOptions {
    std::vector<std::string> studies;  ///< by name; empty: all of the store
    std::int64_t from = 0;             ///< number of the first trial that counts
};

void summary(const Query& query);
void trials(const Query& query, const TrialsOptions& options);
void trial(const Query& query, std::int64_t number);
void best(const Query& query, const BestOptions& options);
void oom(const Query& query, const OomOptions& options);
void failures(const Query& query);
void memory(const Query& query, const MemoryOptions& options);
void compare(const Query& query, const CompareOptions& options);
/// What logs tell without a store: of memory that ran out, or of all failures.
void log_alone(const Query& query, Overview of);
void snapshot(const Query& query, const SnapshotOptions& options);

}  // namespace hpo::analyze
