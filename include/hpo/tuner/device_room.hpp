// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "hpo/core/room_keeper.hpp"
#include "hpo/core/trial.hpp"

namespace hpo::tuner {

/// An attempt that is chosen and not started yet: no slot is free, or the device has no room for it.
struct WaitingAttempt {
    std::int64_t number = 0;  ///< of its trial
    Attempt attempt;
    bool fresh_worker = false;
    std::int64_t least_bytes = 0;  ///< of the device, whatever is predicted: less was not enough
};

/// Holds back attempts until the keeper has room for what they are predicted to need. What nobody can predict is not held back; where
/// needs are predicted, an attempt whose is not, such as after a question that took too long, has the device alone.
class DeviceRoom {
public:
    /// Null: there is always room. `predicts`: needs are known in advance, but for some answers that are missing.
    DeviceRoom(RoomKeeper* keeper, bool predicts) : keeper_{keeper}, predicts_{predicts} {}

    /// Takes room for an attempt, and gives it back to the caller; nothing: it waits here.
    [[nodiscard]] std::optional<WaitingAttempt> admit(WaitingAttempt attempt);
    /// The first of those that wait, from the oldest, that has room now.
    [[nodiscard]] std::optional<WaitingAttempt> next();
    /// What the trial's attempt has of the device; nothing: nobody counts it.
    [[nodiscard]] std::optional<std::int64_t> promised(std::int64_t number) const {
        const std::size_t at = place_of(number);
        return at < bytes_.size() ? std::optional{bytes_[at]} : std::nullopt;
    }
    /// The trial's attempt takes no more than `bytes` from now on; the rest of what it was promised is for others.
    void settle(std::int64_t number, std::int64_t bytes);
    /// The trial's attempt is over, or will not be. What it was promised.
    std::optional<std::int64_t> leave(std::int64_t number);
    void reported(std::int64_t number, std::int64_t step) {
        if (keeper_ && promised(number)) keeper_->reported(number, step);
    }
    [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }

private:
    /// In holders_ and bytes_; their size where the trial has no promise.
    [[nodiscard]] std::size_t place_of(std::int64_t number) const {
        return static_cast<std::size_t>(std::find(holders_.begin(), holders_.end(), number) - holders_.begin());
    }
    [[nodiscard]] bool takes(const WaitingAttempt& each);

    static constexpr std::int64_t whole_device = std::int64_t{1} << 60;  ///< more than any has: the keeper gives all of it

    RoomKeeper* keeper_;
    bool predicts_;
    std::vector<WaitingAttempt> waiting_;
    /// Trials with a promise, and beside each its bytes. Few at a time, and light to compile.
    std::vector<std::int64_t> holders_;
    std::vector<std::int64_t> bytes_;
};

}  // namespace hpo::tuner

#ifndef HPO_COMPILED
#include "hpo/tuner/impl/device_room_inl.hpp"
#endif
