// SPDX-License-Identifier: MIT
#include "hpo/analysis/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include <range/v3/view/zip.hpp>

namespace hpo::analysis {

std::vector<CalibrationRow> calibration_table(std::span<const PredictedUse> uses) {
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
    const auto quantile = [](const std::vector<double>& sorted, double p) {
        return sorted[static_cast<std::size_t>(p * static_cast<double>(sorted.size() - 1) + 0.5)];
    };
    for (auto&& [row, known] : ranges::views::zip(rows, ratios)) {
        if (known.empty()) continue;
        std::ranges::sort(known);
        row.low = quantile(known, 0.05);
        row.median = quantile(known, 0.5);
        row.high = quantile(known, 0.95);
    }
    std::ranges::stable_sort(rows, std::greater{}, &CalibrationRow::attempts);
    return rows;
}

}  // namespace hpo::analysis
