// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "hpo/device/throughput_gate.hpp"

namespace hpo::device {

/// Measures, from the steps that attempts report, how their speed changes with the number that share a device, and tells a ThroughputGate.
///
/// A speed is the steps between two reports of an attempt by the seconds between them, when the number on the device did not change
/// meanwhile. Once an attempt has speeds among n and among n + 1, the ratio of their medians says what one more costs. The gate hears of it
/// when three speeds on either side speak for it, of one attempt or of several: a single one, such as that of a slow first step, is noise.
/// Thread safety: none.
class SharingSpeed {
public:
    SharingSpeed() = default;
    explicit SharingSpeed(ThroughputGate::Options options) : gate_{options} {}

    /// So many attempts are on the device from `now` on, in seconds of any steady clock.
    void shared_by(std::size_t attempts, double now);
    void reported(std::int64_t trial, std::int64_t step, double now);
    void ended(std::int64_t trial) {
        tracks_.erase(trial);
        gate_.ended();
    }
    /// How many attempts may be on the device at a time.
    [[nodiscard]] std::size_t limit() const noexcept { return gate_.limit(); }

private:
    static constexpr std::size_t least_speeds = 3;  ///< on either side of what the gate hears
    static constexpr std::size_t most_speeds = 5;   ///< that are kept of each side

    struct Track {
        bool begun = false;
        std::int64_t step = 0;
        double latest = 0;                                  ///< when it reported that
        std::map<std::size_t, std::vector<double>> speeds;  ///< by the number on the device, the latest of each
    };
    /// What one attempt says of one more beside it.
    struct Ratio {
        double speed = 1;
        std::size_t speeds = 0;  ///< that speak for it, on the side that has fewer
    };

    [[nodiscard]] static double median(std::vector<double> values);
    /// Learns from an attempt that was on the device as one of `more` and as one of one less.
    void compare(std::int64_t trial, const Track& track, std::size_t more);

    ThroughputGate gate_;
    std::size_t attempts_ = 0;
    double since_ = 0;
    std::map<std::int64_t, Track> tracks_;                         ///< by trial
    std::map<std::size_t, std::map<std::int64_t, Ratio>> ratios_;  ///< that the gate has not heard, by the larger number and the trial
};

}  // namespace hpo::device

#ifndef HPO_COMPILED
#include "hpo/device/impl/sharing_speed_inl.hpp"
#endif
