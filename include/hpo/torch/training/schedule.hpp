// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>
#include <string_view>

namespace hpo::libtorch {

/// The learning rate after the warm-up: constant, down to 0 along half a cosine, or down to 0 along a line.
enum class ScheduleKind { constant, cosine, linear };

inline constexpr std::array<std::string_view, 3> schedule_names{"constant", "cosine", "linear"};
[[nodiscard]] constexpr std::optional<ScheduleKind> schedule_kind(std::string_view text) {
    for (std::size_t i = 0; i < schedule_names.size(); ++i) {
        if (schedule_names[i] == text) return static_cast<ScheduleKind>(i);
    }
    return std::nullopt;
}

struct Schedule {
    ScheduleKind kind = ScheduleKind::constant;
    double warmup = 0;  ///< share of all steps, in [0, 1), in which the rate rises along a line

    struct Step {
        std::int64_t number = 0;  ///< the first is 0
        std::int64_t of = 1;      ///< all steps of the training
    };
    /// The factor of the learning rate in a step of the optimizer.
    [[nodiscard]] double factor(const Step& step) const {
        const auto steps = static_cast<double>(step.of);
        const double rise = std::floor(warmup * steps);
        const auto at = static_cast<double>(step.number);
        if (at < rise) return (at + 1) / (rise + 1);
        const double share = (at - rise) / std::max(1.0, steps - rise);
        switch (kind) {
            case ScheduleKind::constant: return 1;
            case ScheduleKind::cosine: return 0.5 * (1 + std::cos(std::numbers::pi * share));
            case ScheduleKind::linear: return 1 - share;
        }
        return 1;
    }
};

}  // namespace hpo::libtorch
