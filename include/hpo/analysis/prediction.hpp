// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hpo/core/history.hpp"
#include "hpo/memory/predicted_estimate.hpp"
#include "hpo/memory/residual_observation.hpp"

namespace hpo::analysis {

/// Whether an attempt took more than was predicted: by more than a thousandth, since a few bytes more are no matter to a device.
[[nodiscard]] constexpr bool exceeds_prediction(std::int64_t used, std::int64_t predicted) {
    return static_cast<double>(used) - static_cast<double>(predicted) > static_cast<double>(predicted / 1000);
}

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

/// Calls `visit(use)` for every attempt with a prediction whose need is known, or known to be more than something.
template <class Visit>
void each_predicted_use(std::span<const Trial> trials, Visit&& visit) {
    for (const Trial& trial : trials) {
        for (const Attempt& attempt : trial.attempts) {
            const auto residual = memory::residual_of(trial, attempt);
            if (!residual) continue;
            PredictedUse use{.trial = &trial, .attempt = &attempt};
            use.predicted = *attempt.estimate->need;
            use.bare = memory::bare_need(*attempt.estimate);
            use.used = std::llround(std::min(static_cast<double>(use.bare) * std::exp(residual->log_ratio), 0x1.0p62));
            use.ran_out = residual->censored;
            visit(use);
        }
    }
}
[[nodiscard]] std::vector<PredictedUse> predicted_uses(std::span<const Trial> trials);

/// How good the memory guard's predictions were.
struct PredictionQuality {
    std::size_t attempts = 0;                       ///< with a prediction and a measured peak
    std::optional<double> median_relative_error;    ///< of |predicted - used| / used
    std::size_t underestimated = 0;                 ///< of these attempts, those whose prediction was too low
    std::size_t oom_attempts_predicted_to_fit = 0;  ///< ran out of memory although the prediction was within capacity
    std::size_t oom_attempts_without_prediction = 0;
    std::size_t refused_before_launch = 0;  ///< proposals, and trials of other programs
};

/// Compares predictions with what attempts took that reached their end, without what was held before they began.
[[nodiscard]] PredictionQuality prediction_quality(std::span<const Trial> trials, std::span<const Rejection> rejections);

}  // namespace hpo::analysis

#ifndef HPO_COMPILED
#include "hpo/analysis/impl/prediction_inl.hpp"
#endif
