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

namespace hpo::analysis {

/// Whether an attempt took more than was predicted: by more than a thousandth, since a few bytes more are no matter to a device.
[[nodiscard]] constexpr bool exceeds_prediction(std::int64_t used, std::int64_t predicted) {
    return static_cast<double>(used) - static_cast<double>(predicted) > static_cast<double>(predicted / 1000);
}

/// How good the memory guard's predictions were.
struct PredictionQuality {
    std::size_t attempts = 0;                       ///< with a prediction and a measured peak
    std::optional<double> median_relative_error;    ///< of |predicted - peak| / peak
    std::size_t underestimated = 0;                 ///< attempts whose peak exceeds_prediction
    std::size_t oom_attempts_predicted_to_fit = 0;  ///< ran out of memory although the prediction was within capacity
    std::size_t oom_attempts_without_prediction = 0;
    std::size_t refused_before_launch = 0;  ///< proposals, and trials of other programs
};

/// Compares `need` with the peak that was measured: reserved memory where the allocator reports it, else allocated.
[[nodiscard]] inline PredictionQuality prediction_quality(std::span<const Trial> trials, std::span<const Rejection> rejections) {
    PredictionQuality quality;
    quality.refused_before_launch = rejections.size();
    std::vector<double> errors;
    for (const Trial& trial : trials) {
        for (const Attempt& attempt : trial.attempts) {
            const std::int64_t need = attempt.estimate ? attempt.estimate->need.value_or(-1) : -1;  // -1: no prediction
            const bool oom = attempt.failure && attempt.failure->kind == FailureKind::out_of_memory;
            if (oom && need < 0) ++quality.oom_attempts_without_prediction;
            if (oom && need >= 0) {
                const auto& memory = attempt.failure->memory;
                const auto room = memory.limit ? memory.limit : memory.capacity;
                if (!room || need <= *room) ++quality.oom_attempts_predicted_to_fit;
            }
            const std::int64_t peak = attempt.peak_reserved.value_or(attempt.peak_allocated.value_or(0));
            if (attempt.failure || need < 0 || peak <= 0) continue;
            ++quality.attempts;
            if (exceeds_prediction(peak, need)) ++quality.underestimated;
            errors.push_back(std::fabs(static_cast<double>(need) - static_cast<double>(peak)) / static_cast<double>(peak));
        }
    }
    if (!errors.empty()) {
        const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
        std::ranges::nth_element(errors, middle);
        quality.median_relative_error = *middle;
    }
    return quality;
}

}  // namespace hpo::analysis
