// SPDX-License-Identifier: MIT
#include "hpo/analysis/prediction.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace hpo::analysis {

std::vector<PredictedUse> predicted_uses(std::span<const Trial> trials) {
    std::vector<PredictedUse> uses;
    each_predicted_use(trials, [&](const PredictedUse& use) { uses.push_back(use); });
    return uses;
}

PredictionQuality prediction_quality(std::span<const Trial> trials, std::span<const Rejection> rejections) {
    PredictionQuality quality;
    quality.refused_before_launch = rejections.size();
    std::vector<double> errors;
    for (const Trial& trial : trials) {
        for (const Attempt& attempt : trial.attempts) {
            if (!attempt.failure || attempt.failure->kind != FailureKind::out_of_memory) continue;
            if (!attempt.estimate || !guard::is_prediction(*attempt.estimate)) {
                const bool alone = attempt.estimate && attempt.estimate->source == guard::alone_source;
                ++(alone ? quality.oom_attempts_alone : quality.oom_attempts_without_prediction);
                continue;
            }
            const auto& memory = attempt.failure->memory;
            const auto room = memory.limit ? memory.limit : memory.capacity;
            if (!room || *attempt.estimate->need <= *room) ++quality.oom_attempts_predicted_to_fit;
        }
    }
    each_predicted_use(trials, [&](const PredictedUse& use) {
        if (use.ran_out) return;
        ++quality.attempts;
        quality.underestimated += use.too_low() ? 1 : 0;
        errors.push_back(std::fabs(static_cast<double>(use.predicted) - static_cast<double>(use.used)) / static_cast<double>(use.used));
    });
    if (!errors.empty()) {
        const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
        std::ranges::nth_element(errors, middle);
        quality.median_relative_error = *middle;
    }
    return quality;
}

}  // namespace hpo::analysis
