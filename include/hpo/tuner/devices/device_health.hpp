// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>

#include "hpo/base/time.hpp"
#include "hpo/core/trial.hpp"
#include "hpo/failure/traits.hpp"

namespace hpo::tuner {

/// Whether a device works, as the ends of its attempts tell. After `most_in_a_row` attempts in a row that failed by the device's fault
/// (Blame::device) it is left out for `first_pause`. Then attempts may run there again. If the next one fails in the same way, the pause is
/// twice as long, up to `longest_pause`.
class DeviceHealth {
public:
    static constexpr int most_in_a_row = 3;
    static constexpr double first_pause = 60;      ///< seconds
    static constexpr double longest_pause = 1800;  ///< seconds

    /// Call it for each attempt that ended on the device. Returns true if the device is left out from now on.
    bool see(const Attempt& attempt) {
        const bool by_device = attempt.failure && traits_of(*attempt.failure).blame == Blame::device;
        if (!by_device) {  // a failure of the trial's own says nothing about the device
            if (attempt.outcome == OutcomeKind::complete || attempt.outcome == OutcomeKind::stopped) *this = {};
            return false;
        }
        if (++in_a_row_ < most_in_a_row || !works()) return false;
        pause_ = pause_ == 0 ? first_pause : std::min(2 * pause_, longest_pause);
        since_ = Stopwatch{};
        return true;
    }
    [[nodiscard]] bool works() const { return pause_ == 0 || since_.seconds() >= pause_; }
    [[nodiscard]] double pause_seconds() const noexcept { return pause_; }

private:
    int in_a_row_ = 0;
    double pause_ = 0;  ///< seconds; 0: the device was never left out since an attempt succeeded
    Stopwatch since_;   ///< the beginning of the pause
};

}  // namespace hpo::tuner
