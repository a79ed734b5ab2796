// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace hpo::device {

/// Bounds how many attempts share a device by what sharing brings: one more is worth its place only while all together get faster.
///
/// Additive increase, multiplicative decrease is what networks use against the same trouble; here the decrease is one, since each step
/// up was measured (Chiu and Jain, "Analysis of the Increase and Decrease Algorithms", 1989).
class ThroughputGate {
public:
    struct Options {
        double least_gain = 1.05;      ///< of the device's throughput by one attempt more
        std::size_t retry_after = 20;  ///< attempts that end below a limit until one more is tried again
    };

    ThroughputGate() = default;
    explicit ThroughputGate(Options options) : options_{options} {}

    /// What was measured when the attempts on the device became `now`, one more than before: for each that ran before and after, its
    /// speed after by its speed before. Nothing is learnt from none.
    void joined(std::size_t now, std::span<const double> speed_ratios) {
        if (now < 2 || speed_ratios.empty()) return;
        double logs = 0;
        for (const double ratio : speed_ratios) {
            if (!std::isfinite(ratio) || ratio <= 0) return;
            logs += std::log(ratio);
        }
        const double speed = std::exp(logs / static_cast<double>(speed_ratios.size()));
        const double gain = static_cast<double>(now) / static_cast<double>(now - 1) * speed;
        if (gain >= options_.least_gain) return;
        limit_ = std::min(limit_, now - 1);
        ended_ = 0;
    }

    /// An attempt ended.
    void ended() {
        if (limit_ == unlimited || ++ended_ < options_.retry_after) return;
        ++limit_;
        ended_ = 0;
    }

    static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();
    /// How many attempts may be on the device at a time; at least 1.
    [[nodiscard]] std::size_t limit() const noexcept { return limit_; }

private:
    Options options_{};
    std::size_t limit_ = unlimited;
    std::size_t ended_ = 0;
};

}  // namespace hpo::device
