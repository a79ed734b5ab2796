// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "hpo/core/trial.hpp"
#include "hpo/tuner/options.hpp"

namespace hpo::tuner {

/// An attempt that is chosen and not started yet: no slot is free, or the device has no room for it.
struct WaitingAttempt {
    std::int64_t number = 0;  ///< of its trial
    Attempt attempt;
    bool fresh_worker = false;
};

/// Holds back attempts until the device has room for what they are predicted to need, as TuneOptions::takes_room says. What nobody
/// predicted is not held back.
class DeviceRoom {
public:
    explicit DeviceRoom(const TuneOptions& options) : options_{options} {}

    /// Takes room for an attempt, and gives it back to the caller; nothing: it waits here.
    [[nodiscard]] std::optional<WaitingAttempt> admit(WaitingAttempt attempt) {
        if (takes(attempt)) return attempt;
        waiting_.push_back(std::move(attempt));
        return std::nullopt;
    }
    /// The first of those that wait, from the oldest, that has room now.
    [[nodiscard]] std::optional<WaitingAttempt> next() {
        const auto found = std::find_if(waiting_.begin(), waiting_.end(), [this](const WaitingAttempt& each) { return takes(each); });
        if (found == waiting_.end()) return std::nullopt;
        WaitingAttempt attempt = std::move(*found);
        waiting_.erase(found);
        return attempt;
    }
    /// The trial's attempt is over, or will not be.
    void leave(std::int64_t number) {
        std::erase_if(waiting_, [&](const WaitingAttempt& each) { return each.number == number; });
        if (options_.leaves_room) options_.leaves_room(number);
    }
    [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }

private:
    [[nodiscard]] bool takes(const WaitingAttempt& each) const {
        const auto& estimate = each.attempt.estimate;
        return !options_.takes_room || !estimate || !estimate->need || options_.takes_room(each.number, *estimate->need);
    }

    const TuneOptions& options_;
    std::vector<WaitingAttempt> waiting_;
};

}  // namespace hpo::tuner
