// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hpo/analysis/prediction.hpp"
#include "hpo/core/trial.hpp"
#include "hpo/memory/residual_observation.hpp"

namespace hpo::analysis {

/// An attempt's prediction beside what came of it. What was taken between the predicted need and comfort came about as predicted, and
/// counts as the need.
struct PredictedUse {
    const Trial* trial = nullptr;
    const Attempt* attempt = nullptr;
    std::int64_t predicted = 0;  ///< the need that the guard told, its margin included
    std::int64_t bare = 0;       ///< the same before the margin
    std::int64_t used = 0;       ///< measured, or what it needed at least
    bool ran_out = false;        ///< out of memory by its own doing: it needed more than `used`

    [[nodiscard]] bool too_low() const { return ran_out ? used >= predicted : exceeds_prediction(used, predicted); }
    [[nodiscard]] double ratio() const { return static_cast<double>(used) / static_cast<double>(bare); }
};

/// Every attempt with a prediction whose need is known, or known to be more than something.
[[nodiscard]] inline std::vector<PredictedUse> predicted_uses(std::span<const Trial> trials) {
    std::vector<PredictedUse> uses;
    for (const Trial& trial : trials) {
        for (const Attempt& attempt : trial.attempts) {
            const auto residual = memory::residual_of(trial, attempt);
            if (!residual) continue;
            PredictedUse use{.trial = &trial, .attempt = &attempt};
            use.predicted = *attempt.estimate->need;
            use.bare = memory::bare_need(*attempt.estimate);
            use.used = std::llround(std::min(static_cast<double>(use.bare) * std::exp(residual->log_ratio), 0x1.0p62));
            use.ran_out = residual->censored;
            uses.push_back(use);
        }
    }
    return uses;
}

/// How the predictions of one source held.
struct CalibrationRow {
    std::string source;              ///< what predicted: dry_run, probe, formula, limit
    double claimed = 0;              ///< probability that the need is at most the predicted one, as the guard told; 0: not claimed
    std::size_t attempts = 0;        ///< with a prediction and a known need, or one that is known to be more than something
    std::size_t ran_out = 0;         ///< of these, out of memory by their own doing
    std::size_t underestimated = 0;  ///< needed more than was predicted
    std::optional<double> low;       ///< 0.05 quantile of measured / predicted before the guard's margin; of those that ended
    std::optional<double> median;
    std::optional<double> high;  ///< 0.95 quantile

    [[nodiscard]] double underestimate_rate() const { return static_cast<double>(underestimated) / static_cast<double>(attempts); }
};

/// One row for each source and claimed confidence, the most used first.
[[nodiscard]] inline std::vector<CalibrationRow> calibration_table(std::span<const PredictedUse> uses) {
    std::vector<CalibrationRow> rows;
    std::vector<std::vector<double>> ratios;
    for (const PredictedUse& use : uses) {
        const Estimate& estimate = *use.attempt->estimate;
        auto found = std::ranges::find_if(rows, [&](const CalibrationRow& row) {
            return row.source == estimate.source && std::fabs(row.claimed - estimate.confidence) < 1e-9;
        });
        if (found == rows.end()) {
            found = rows.insert(
                found, CalibrationRow{.source = estimate.source, .claimed = estimate.confidence, .low = {}, .median = {}, .high = {}});
            ratios.emplace_back();
        }
        ++found->attempts;
        found->ran_out += use.ran_out ? 1 : 0;
        found->underestimated += use.too_low() ? 1 : 0;
        if (!use.ran_out) ratios[static_cast<std::size_t>(found - rows.begin())].push_back(use.ratio());
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
        std::vector<double>& known = ratios[i];
        if (known.empty()) continue;
        std::ranges::sort(known);
        const auto quantile = [&](double p) { return known[static_cast<std::size_t>(p * static_cast<double>(known.size() - 1) + 0.5)]; };
        rows[i].low = quantile(0.05);
        rows[i].median = quantile(0.5);
        rows[i].high = quantile(0.95);
    }
    std::ranges::stable_sort(rows, std::greater{}, &CalibrationRow::attempts);
    return rows;
}

}  // namespace hpo::analysis
