// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

#include "hpo/guard/concept.hpp"

namespace hpo::guard {

/// How well a source has predicted one model family in a study.
struct SourceRecord {
    std::int64_t known = 0;    ///< trials whose real need is known
    std::int64_t too_low = 0;  ///< those of them that needed more than the guard's estimate

    /// True if predictions were too low at least three times, and in at least half of the known trials. Then they are useless for this
    /// family.
    [[nodiscard]] bool is_wrong() const { return too_low >= 3 && 2 * too_low >= known; }
};

/// The record of `source` in the study's attempts that are like the query's. An estimate was too low if the attempt needed over 1 % more
/// than it, including the guard's margin. O(attempts).
[[nodiscard]] SourceRecord source_record(const MemoryQuery& query, std::string_view source);

/// Returns `wanted`, or the next weaker evidence whose source has not been wrong for the query's family.
[[nodiscard]] Evidence trusted_evidence(Evidence wanted, const MemoryQuery& query);

}  // namespace hpo::guard
