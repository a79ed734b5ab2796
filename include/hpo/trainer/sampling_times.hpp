// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace hpo {

/// Says when to sample a training's memory: at its first step, then ever more rarely. So short trainings are sampled densely, and long ones
/// stay small in the store. The interval begins at half a second and doubles after every six samples. `n` seconds give at most
/// 1 + 6 (1 + log2(1 + n / 3)) samples; a day gives 96.
class SamplingTimes {
public:
    /// True if a sample is due now, `seconds` after the attempt began. It then counts as taken.
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
