// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hpo/analysis/prediction.hpp"

namespace hpo::analysis {

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
[[nodiscard]] std::vector<CalibrationRow> calibration_table(std::span<const PredictedUse> uses);

}  // namespace hpo::analysis

#ifndef HPO_COMPILED
#include "hpo/analysis/impl/calibration_inl.hpp"
#endif
