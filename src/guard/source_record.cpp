// SPDX-License-Identifier: MIT
#include "hpo/guard/source_record.hpp"

#include <cmath>
#include <string>
#include <string_view>

#include "hpo/core/history.hpp"
#include "hpo/core/peak_prediction.hpp"
#include "hpo/guard/calibration/model_family.hpp"
#include "hpo/guard/calibration/observation.hpp"
#include "hpo/guard/predicted_estimate.hpp"

namespace hpo::guard {

SourceRecord source_record(const MemoryQuery& query, std::string_view source) {
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

Evidence trusted_evidence(Evidence wanted, const MemoryQuery& query) {
    if (wanted == Evidence::virtual_card && source_record(query, to_text(PeakSource::virtual_card)).is_wrong()) wanted = Evidence::dry_run;
    if (wanted == Evidence::dry_run && source_record(query, to_text(PeakSource::dry_run)).is_wrong()) wanted = Evidence::probe;
    if (wanted == Evidence::probe && source_record(query, to_text(PeakSource::probe)).is_wrong()) wanted = Evidence::shape;
    return wanted;
}

}  // namespace hpo::guard
