// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace hpo {

/// When a training's memory is looked at: at its first step, then ever more rarely, so that short trainings are seen closely and long
/// ones stay small in the store. The interval begins at half a second and doubles after every six samples: `n` seconds leave at most
/// 1 + 6 (1 + log2(1 + n / 3)) samples, 96 of a day.
class SamplingTimes {
public:
    /// Whether a sample is to be taken now, `seconds` after the attempt began; if so, it counts as taken.
    [[nodiscard]] bool due(double seconds) noexcept {
        if (taken_ > 0 && seconds < next_) return false;
        if (taken_ > 0 && taken_ % per_interval == 0) interval_ *= 2;
        ++taken_;
        next_ = seconds + interval_;
        return true;
    }
    [[nodiscard]] std::int64_t taken() const noexcept { return taken_; }

private:
    static constexpr std::int64_t per_interval = 6;
    double interval_ = 0.5;
    double next_ = 0;
    std::int64_t taken_ = 0;
};

}  // namespace hpo
