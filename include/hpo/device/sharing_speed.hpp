// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "hpo/device/throughput_gate.hpp"

namespace hpo::device {

/// Measures, from the steps that attempts report, how their speed changes with the number that share a device, and tells a ThroughputGate.
///
/// A speed is the steps between two reports of an attempt by the seconds between them, when the number on the device did not change
/// meanwhile. Once an attempt has a speed among n and among n + 1, their ratio says what one more costs. The gate hears of three such
/// ratios at a time, since a single one is noise. Thread safety: none.
class SharingSpeed {
public:
    SharingSpeed() = default;
    explicit SharingSpeed(ThroughputGate::Options options) : gate_{options} {}

    /// So many attempts are on the device from `now` on, in seconds of any steady clock.
    void shared_by(std::size_t attempts, double now) {
        if (attempts == attempts_) return;
        attempts_ = attempts;
        since_ = now;
    }
    void reported(std::int64_t trial, std::int64_t step, double now) {
        Track& track = tracks_[trial];
        const double seconds = now - track.latest;
        const auto steps = static_cast<double>(step - track.step);
        if (track.begun && track.latest >= since_ && steps > 0 && seconds > 0) {
            track.speeds[attempts_] = steps / seconds;
            compare(track, attempts_);
            compare(track, attempts_ + 1);
        }
        track.begun = true;
        track.step = step;
        track.latest = now;
    }
    void ended(std::int64_t trial) {
        tracks_.erase(trial);
        gate_.ended();
    }
    /// How many attempts may be on the device at a time.
    [[nodiscard]] std::size_t limit() const noexcept { return gate_.limit(); }

private:
    static constexpr std::size_t ratios_at_a_time = 3;

    struct Track {
        bool begun = false;
        std::int64_t step = 0;
        double latest = 0;                     ///< when it reported that
        std::map<std::size_t, double> speeds;  ///< by the number on the device, the latest of each
    };

    /// Learns from an attempt that was on the device as one of `more` and as one of one less.
    void compare(const Track& track, std::size_t more) {
        const auto among_more = track.speeds.find(more);
        const auto among_less = track.speeds.find(more - 1);
        if (among_more == track.speeds.end() || among_less == track.speeds.end()) return;
        auto& ratios = ratios_[more];
        ratios.push_back(among_more->second / among_less->second);
        if (ratios.size() < ratios_at_a_time) return;
        gate_.joined(more, std::exchange(ratios, {}));
    }

    ThroughputGate gate_;
    std::size_t attempts_ = 0;
    double since_ = 0;
    std::map<std::int64_t, Track> tracks_;               ///< by trial
    std::map<std::size_t, std::vector<double>> ratios_;  ///< by the larger number
};

}  // namespace hpo::device
