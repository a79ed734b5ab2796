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
#include "hpo/guard/calibration/observation.hpp"
#include "hpo/guard/learned/learned_peaks.hpp"
#include "hpo/guard/predicted_estimate.hpp"

namespace hpo::analysis {

/// Whether an attempt took more than predicted. A difference of up to a thousandth does not count.
[[nodiscard]] constexpr bool exceeds_prediction(std::int64_t used, std::int64_t predicted) {
    return static_cast<double>(used) - static_cast<double>(predicted) > static_cast<double>(predicted / 1000);
}

/// An attempt's prediction and its measured use. A use between the predicted need and comfort counts as the need.
struct PredictedUse {
    const Trial* trial = nullptr;
    const Attempt* attempt = nullptr;
    std::int64_t predicted = 0;  ///< the guard's need, including its margin
    std::int64_t bare = 0;       ///< the same without the margin
    std::int64_t used = 0;       ///< measured, or the least that it needed
    bool ran_out = false;        ///< ran out of memory by itself: it needed more than `used`

    [[nodiscard]] bool too_low() const { return ran_out ? used >= predicted : exceeds_prediction(used, predicted); }
    [[nodiscard]] double ratio() const { return static_cast<double>(used) / static_cast<double>(bare); }
};

/// Calls `visit(use)` for every attempt with a prediction whose need is known or has a known lower bound.
template <class Visit>
void each_predicted_use(std::span<const Trial> trials, Visit&& visit) {
    for (const Trial& trial : trials) {
        for (const Attempt& attempt : trial.attempts) {
            const auto residual = guard::residual_of(trial, attempt);
            if (!residual || !guard::is_prediction(*attempt.estimate)) continue;
            PredictedUse use{.trial = &trial, .attempt = &attempt};
            use.predicted = *attempt.estimate->need;
            use.bare = guard::bare_need(*attempt.estimate);
            const Estimate& estimate = *attempt.estimate;
            const double error = guard::log_ratio_of(estimate, residual->log_ratio);
            use.used = std::llround(std::min(static_cast<double>(use.bare) * std::exp(error), 0x1.0p62));
            use.ran_out = residual->censored;
            visit(use);
        }
    }
}
[[nodiscard]] std::vector<PredictedUse> predicted_uses(std::span<const Trial> trials);

/// How good the memory guard's predictions were.
struct PredictionQuality {
    std::size_t attempts = 0;                       ///< attempts with a prediction and a measured peak
    std::optional<double> median_relative_error;    ///< of |predicted - used| / used
    std::size_t underestimated = 0;                 ///< of these, the ones whose prediction was too low
    std::size_t oom_attempts_predicted_to_fit = 0;  ///< ran out of memory although the prediction was within capacity
    std::size_t oom_attempts_alone =
        0;  ///< ran out of memory on a device that the guard had given to each alone: nothing was known of its need
    std::size_t oom_attempts_without_prediction = 0;
    std::size_t refused_before_launch = 0;  ///< proposals, and other programs' trials, that were refused
};

/// Compares predictions with the measured use of attempts that reached their end. Memory that was held before they began does not count.
[[nodiscard]] PredictionQuality prediction_quality(std::span<const Trial> trials, std::span<const Rejection> rejections);

}  // namespace hpo::analysis
