// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "hpo/base/inline.hpp"
#include "hpo/tuner/devices/attempt_reservations.hpp"

namespace hpo::tuner::inline devices {

HPO_INLINE std::optional<WaitingAttempt> AttemptReservations::admit(WaitingAttempt attempt, bool is_slot_free) {
    seen_free_.reset();
    if (is_slot_free && takes(attempt)) return attempt;
    if (attempt.is_patient()) ++waits_in_a_row_;
    waiting_.push_back(std::move(attempt));
    return std::nullopt;
}

HPO_INLINE std::optional<WaitingAttempt> AttemptReservations::next() {
    seen_free_.reset();
    const auto found = std::find_if(waiting_.begin(), waiting_.end(), [this](WaitingAttempt& each) { return takes(each); });
    if (found == waiting_.end()) return std::nullopt;
    WaitingAttempt attempt = std::move(*found);
    waiting_.erase(found);
    return attempt;
}

HPO_INLINE std::size_t AttemptReservations::kept_slots(std::size_t slots) const {
    const auto patient = static_cast<std::size_t>(
        std::count_if(waiting_.begin(), waiting_.end(), [](const WaitingAttempt& each) { return each.is_patient(); }));
    const std::size_t too_many = waits_in_a_row_ > slots ? waits_in_a_row_ - slots : 0;
    return waiting_.size() - patient + std::min(patient, too_many);
}

HPO_INLINE AttemptReservations::Patience AttemptReservations::patience() const {
    Patience found;
    for (const WaitingAttempt& each : waiting_) {
        if (!each.is_patient()) continue;
        const double left = each.patience_seconds();
        found.seconds = found.attempts++ == 0 ? left : std::min(found.seconds, left);
    }
    return found;
}

HPO_INLINE void AttemptReservations::shrink(std::int64_t number, std::int64_t bytes) {
    const std::size_t at = place_of(number);
    if (at == bytes_.size() || bytes >= bytes_[at]) return;
    bytes_[at] = bytes;
    reservations_->shrink(number, bytes);
}

HPO_INLINE std::optional<std::int64_t> AttemptReservations::release(std::int64_t number) {
    const auto had = reservation(number);
    if (had) {
        const auto at = static_cast<std::ptrdiff_t>(place_of(number));
        holders_.erase(holders_.begin() + at);
        bytes_.erase(bytes_.begin() + at);
    }
    std::erase_if(waiting_, [&](const WaitingAttempt& each) { return each.number == number; });
    std::erase(running_, number);
    if (alone_ == number) alone_.reset();
    if (reservations_) reservations_->release(number);
    return had;
}

HPO_INLINE bool AttemptReservations::takes(WaitingAttempt& each) {
    if (!may_run_beside_others(each) || !has_waited(each) || !reserves(each)) return false;
    running_.push_back(each.number);
    if (each.alone) alone_ = each.number;
    return true;
}

HPO_INLINE bool AttemptReservations::may_run_beside_others(const WaitingAttempt& each) const {
    if (alone_ || (each.alone && !running_.empty())) return false;
    for (const WaitingAttempt& older : waiting_) {
        if (&older == &each) break;
        if (older.alone && !older.is_patient()) return false;  // else the device would never be empty
    }
    return true;
}

HPO_INLINE std::optional<std::int64_t> AttemptReservations::free_now() {
    if (!seen_free_) seen_free_ = free_now_ ? free_now_() : std::nullopt;
    return *seen_free_;
}

HPO_INLINE bool AttemptReservations::has_waited(WaitingAttempt& each) {
    if (each.chosen.seconds() < each.pause_seconds) return false;
    if (!each.wait_seconds) return true;
    if (each.looked && each.looked->seconds() < each.wait_interval_seconds && each.is_patient()) return false;
    each.looked = Stopwatch{};
    const auto free = free_now();
    const auto& estimate = each.attempt.estimate;
    const std::int64_t required = std::max({each.free_bytes, each.least_bytes, estimate ? estimate->need.value_or(0) : 0});
    const bool is_free = !free || *free >= required;
    each.timed_out = !is_free && !each.is_patient();
    return is_free || each.timed_out;
}

HPO_INLINE bool AttemptReservations::reserves(const WaitingAttempt& each) {
    const auto& estimate = each.attempt.estimate;
    const bool predicted = estimate && estimate->need;
    predicts_ = predicts_ || predicted;
    if (!reservations_ || !(predicts_ || each.alone)) return true;
    // Other programs may hold a part of the device for as long as they run. Who is alone gets the rest.
    const auto free = each.alone ? free_now() : std::nullopt;
    const std::int64_t whole = free ? std::max<std::int64_t>(*free, 1) : whole_device;
    const std::int64_t need = std::max(predicted && !each.alone ? *estimate->need : whole, each.least_bytes);
    const auto reserved = reservations_->reserve({each.number, need, std::max(need, predicted ? estimate->comfort.value_or(0) : 0)});
    if (reserved) {
        holders_.push_back(each.number);
        bytes_.push_back(*reserved);
    }
    return reserved.has_value();
}

}  // namespace hpo::tuner::devices
