// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace hpo::device {

/// Limits how many attempts share a device. One more attempt is worth it only while all of them together get faster.
///
/// Networks use additive increase and multiplicative decrease for the same problem (Chiu and Jain, "Analysis of the Increase and Decrease
/// Algorithms", 1989). Here the decrease is only one, because each increase was measured.
class ThroughputGate {
public:
    struct Options {
        double least_gain = 1.05;      ///< factor by which one more attempt must raise the device's throughput
        std::size_t retry_after = 20;  ///< number of attempts that end under a limit before one more is tried again
    };

    ThroughputGate() = default;
    explicit ThroughputGate(Options options) : options_{options} {}

    /// Tells what was measured when the number of attempts on the device rose by one to `now`. `speed_ratios` has the speed after divided
    /// by the speed before, for each attempt that ran before and after. If it is empty, nothing is learnt.
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
