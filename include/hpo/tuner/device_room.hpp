// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
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

/// Holds back attempts until the keeper has room for what they are predicted to need. What nobody predicted is not held back.
class DeviceRoom {
public:
    /// Null: there is always room.
    explicit DeviceRoom(RoomKeeper* keeper) : keeper_{keeper} {}

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
    /// What the trial's attempt has of the device; nothing: nobody counts it.
    [[nodiscard]] std::optional<std::int64_t> promised(std::int64_t number) const {
        const auto found = promised_.find(number);
        return found == promised_.end() ? std::nullopt : std::optional{found->second};
    }
    /// The trial's attempt is over, or will not be. What it was promised.
    std::optional<std::int64_t> leave(std::int64_t number) {
        const auto had = promised(number);
        promised_.erase(number);
        std::erase_if(waiting_, [&](const WaitingAttempt& each) { return each.number == number; });
        if (keeper_) keeper_->leave(number);
        return had;
    }
    void reported(std::int64_t number, std::int64_t step) {
        if (keeper_ && promised_.contains(number)) keeper_->reported(number, step);
    }
    [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }

private:
    [[nodiscard]] bool takes(const WaitingAttempt& each) {
        const auto& estimate = each.attempt.estimate;
        if (!keeper_ || !estimate || !estimate->need) return true;
        const std::int64_t need = std::max(*estimate->need, each.least_bytes);
        const auto promised = keeper_->take({each.number, need, std::max(need, estimate->comfort.value_or(0))});
        if (promised) promised_[each.number] = *promised;
        return promised.has_value();
    }

    RoomKeeper* keeper_;
    std::vector<WaitingAttempt> waiting_;
    std::map<std::int64_t, std::int64_t> promised_;  ///< bytes by trial
};

}  // namespace hpo::tuner
