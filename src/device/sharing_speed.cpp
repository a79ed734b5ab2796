// SPDX-License-Identifier: MIT
#include "hpo/device/sharing_speed.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hpo::device {

void SharingSpeed::shared_by(std::size_t attempts, double now) {
    if (attempts == attempts_) return;
    attempts_ = attempts;
    since_ = now;
}

void SharingSpeed::reported(std::int64_t trial, std::int64_t step, double now) {
    Track& track = tracks_[trial];
    const double seconds = now - track.latest;
    const auto steps = static_cast<double>(step - track.step);
    if (track.begun && track.latest >= since_ && steps > 0 && seconds > 0) {
        auto& speeds = track.speeds[attempts_];
        if (speeds.size() == most_speeds) speeds.erase(speeds.begin());
        speeds.push_back(steps / seconds);
        compare(trial, track, attempts_);
        compare(trial, track, attempts_ + 1);
    }
    track.begun = true;
    track.step = step;
    track.latest = now;
}

double SharingSpeed::median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

void SharingSpeed::compare(std::int64_t trial, const Track& track, std::size_t more) {
    const auto among_more = track.speeds.find(more);
    const auto among_less = track.speeds.find(more - 1);
    if (among_more == track.speeds.end() || among_less == track.speeds.end()) return;
    auto& ratios = ratios_[more];
    ratios[trial] = {median(among_more->second) / median(among_less->second),
                     std::min(among_more->second.size(), among_less->second.size())};
    std::size_t speeds = 0;
    std::vector<double> heard;
    for (const auto& [of, ratio] : ratios) {
        speeds += ratio.speeds;
        heard.push_back(ratio.speed);
    }
    if (speeds < least_speeds) return;
    gate_.joined(more, heard);
    ratios.clear();
}

}  // namespace hpo::device
