// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hpo/analysis/prediction.hpp"

namespace hpo::analysis {

/// How good the predictions of one source were.
struct CalibrationRow {
    std::string source;              ///< the source: dry_run, probe, formula, limit
    double claimed = 0;              ///< the guard's probability that the prediction suffices; 0: not claimed
    std::size_t attempts = 0;        ///< with a prediction, and a need that is known or has a known lower bound
    std::size_t ran_out = 0;         ///< of these, the ones that ran out of memory by themselves
    std::size_t underestimated = 0;  ///< of these, the ones that needed more than predicted
    std::optional<double> low;       ///< 0.05 quantile of measured / predicted before the guard's margin, for attempts that ended
    std::optional<double> median;
    std::optional<double> high;  ///< 0.95 quantile

    [[nodiscard]] double underestimate_rate() const { return static_cast<double>(underestimated) / static_cast<double>(attempts); }
};

/// One row for each source and claimed confidence. The most used comes first.
[[nodiscard]] std::vector<CalibrationRow> calibration_table(std::span<const PredictedUse> uses);

}  // namespace hpo::analysis
