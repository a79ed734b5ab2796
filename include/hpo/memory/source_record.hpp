// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "hpo/core/history.hpp"
#include "hpo/core/peak_prediction.hpp"
#include "hpo/memory/concept.hpp"
#include "hpo/memory/residual_observation.hpp"

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
[[nodiscard]] inline SourceRecord source_record(const MemoryQuery& query, std::string_view source) {
    constexpr double tolerance = 0.01;
    const ResidualGroup group = residual_group(std::string{source}, query.runs_on, query.params, query.plan);
    SourceRecord record;
    for (const Trial& trial : query.history.trials) {
        bool known = false;
        bool too_low = false;
        for (const Attempt& attempt : trial.attempts) {
            if (!attempt.estimate || attempt.estimate->source != source) continue;
            if (!attempt.model_family.empty() && attempt.model_family != group.family) continue;
            const auto residual = residual_of(trial, attempt);
            if (!residual || residual->group.family != group.family || residual->group.pool != group.pool) continue;
            const auto margin = static_cast<double>(bytes_of_part(*attempt.estimate, margin_part));
            const auto bare = static_cast<double>(bare_need(*attempt.estimate));
            const bool more = residual->log_ratio > std::log1p(margin / bare) + tolerance;
            too_low = too_low || more;
            known = known || more || !residual->censored;
        }
        record.known += known ? 1 : 0;
        record.too_low += too_low ? 1 : 0;
    }
    return record;
}

/// `wanted`, or the next weaker evidence whose source has not been wrong for the query's family.
[[nodiscard]] inline Evidence trusted_evidence(Evidence wanted, const MemoryQuery& query) {
    if (wanted == Evidence::dry_run && source_record(query, to_text(PeakSource::dry_run)).is_wrong()) wanted = Evidence::probe;
    if (wanted == Evidence::probe && source_record(query, to_text(PeakSource::probe)).is_wrong()) wanted = Evidence::shape;
    return wanted;
}

}  // namespace hpo::memory
