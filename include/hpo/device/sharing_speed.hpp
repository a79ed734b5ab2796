// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <vector>

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

/// Measures how the speed of attempts changes with the number of attempts on a device, and tells a ThroughputGate. It uses the steps that
/// attempts report.
///
/// A speed is the steps between two reports of an attempt divided by the seconds between them, if the number on the device did not change
/// meanwhile. Once an attempt has speeds with n and with n + 1 attempts on the device, the ratio of their medians says what one more costs.
/// The gate is told when there are three speeds for either number, from one attempt or from several. A single speed is noise, such as that
/// of a slow first step.
/// Thread safety: none.
class SharingSpeed {
public:
    SharingSpeed() = default;
    explicit SharingSpeed(ThroughputGate::Options options) : gate_{options} {}

    /// This number of attempts is on the device from `now` on. `now` is in seconds of any steady clock.
    void shared_by(std::size_t attempts, double now);
    void reported(std::int64_t trial, std::int64_t step, double now);
    void ended(std::int64_t trial) {
        tracks_.erase(trial);
        gate_.ended();
    }
    /// How many attempts may be on the device at a time.
    [[nodiscard]] std::size_t limit() const noexcept { return gate_.limit(); }

private:
    static constexpr std::size_t least_speeds = 3;  ///< for either number of attempts, before the gate is told
    static constexpr std::size_t most_speeds = 5;   ///< the latest speeds that are kept for each number of attempts

    struct Track {
        bool begun = false;
        std::int64_t step = 0;
        double latest = 0;                                  ///< when it reported that step
        std::map<std::size_t, std::vector<double>> speeds;  ///< by the number of attempts on the device
    };
    /// How one more attempt on the device changes the speed of one attempt.
    struct Ratio {
        double speed = 1;
        std::size_t speeds = 0;  ///< how many speeds it rests on; for the number of attempts that has fewer
    };

    [[nodiscard]] static double median(std::vector<double> values);
    /// Learns from an attempt that was on the device as one of `more` attempts and as one of `more - 1`.
    void compare(std::int64_t trial, const Track& track, std::size_t more);

    ThroughputGate gate_;
    std::size_t attempts_ = 0;
    double since_ = 0;
    std::map<std::int64_t, Track> tracks_;                         ///< by trial
    std::map<std::size_t, std::map<std::int64_t, Ratio>> ratios_;  ///< not told to the gate yet; by the larger number and the trial
};

}  // namespace hpo::device
