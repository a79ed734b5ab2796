// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

#include "hpo/memory/concept.hpp"

namespace hpo::memory {

/// How a source's predictions of one model family have turned out in a study.
struct SourceRecord {
    std::int64_t known = 0;    ///< trials whose need is known
    std::int64_t too_low = 0;  ///< of those, trials that needed more than the guard had made of the prediction

    /// Wrong three times, and at least as often as not: its predictions say nothing of this family.
    [[nodiscard]] bool is_wrong() const { return too_low >= 3 && 2 * too_low >= known; }
};

/// What the study's attempts say of `source` for attempts like the query's. An attempt needed more where that is over 1 % of what was
/// estimated, the guard's margin included. O(attempts).
[[nodiscard]] SourceRecord source_record(const MemoryQuery& query, std::string_view source);

/// `wanted`, or the next weaker evidence whose source has not been wrong for the query's family.
[[nodiscard]] Evidence trusted_evidence(Evidence wanted, const MemoryQuery& query);

}  // namespace hpo::memory

#ifndef HPO_COMPILED
#include "hpo/memory/impl/source_record_inl.hpp"
#endif
