// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

/// Holds back attempts until the keeper has room for what they are predicted to need. What nobody can predict is not held back; where
/// needs are predicted, an attempt whose is not, such as after a question that took too long, has the device alone.
class DeviceRoom {
public:
    /// Null: there is always room. `predicts`: needs are known in advance, but for some answers that are missing.
    DeviceRoom(RoomKeeper* keeper, bool predicts) : keeper_{keeper}, predicts_{predicts} {}

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
        const std::size_t at = place_of(number);
        return at < bytes_.size() ? std::optional{bytes_[at]} : std::nullopt;
    }
    /// The trial's attempt takes no more than `bytes` from now on; the rest of what it was promised is for others.
    void settle(std::int64_t number, std::int64_t bytes) {
        const std::size_t at = place_of(number);
        if (at == bytes_.size() || bytes >= bytes_[at]) return;
        bytes_[at] = bytes;
        keeper_->settle(number, bytes);
    }
    /// The trial's attempt is over, or will not be. What it was promised.
    std::optional<std::int64_t> leave(std::int64_t number) {
        const auto had = promised(number);
        if (had) {
            const auto at = static_cast<std::ptrdiff_t>(place_of(number));
            holders_.erase(holders_.begin() + at);
            bytes_.erase(bytes_.begin() + at);
        }
        std::erase_if(waiting_, [&](const WaitingAttempt& each) { return each.number == number; });
        if (keeper_) keeper_->leave(number);
        return had;
    }
    void reported(std::int64_t number, std::int64_t step) {
        if (keeper_ && promised(number)) keeper_->reported(number, step);
    }
    [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }

private:
    /// In holders_ and bytes_; their size where the trial has no promise.
    [[nodiscard]] std::size_t place_of(std::int64_t number) const {
        return static_cast<std::size_t>(std::find(holders_.begin(), holders_.end(), number) - holders_.begin());
    }
    [[nodiscard]] bool takes(const WaitingAttempt& each) {
        const auto& estimate = each.attempt.estimate;
        const bool predicted = estimate && estimate->need;
        predicts_ = predicts_ || predicted;
        if (!keeper_ || !predicts_) return true;
        const std::int64_t need = std::max(predicted ? *estimate->need : whole_device, each.least_bytes);
        const auto promised = keeper_->take({each.number, need, std::max(need, predicted ? estimate->comfort.value_or(0) : 0)});
        if (promised) {
            holders_.push_back(each.number);
            bytes_.push_back(*promised);
        }
        return promised.has_value();
    }

    static constexpr std::int64_t whole_device = std::int64_t{1} << 60;  ///< more than any has: the keeper gives all of it

    RoomKeeper* keeper_;
    bool predicts_;
    std::vector<WaitingAttempt> waiting_;
    /// Trials with a promise, and beside each its bytes. Few at a time, and light to compile.
    std::vector<std::int64_t> holders_;
    std::vector<std::int64_t> bytes_;
};

}  // namespace hpo::tuner
