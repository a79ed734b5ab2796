// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "hpo/base/time.hpp"
#include "hpo/core/reservations.hpp"
#include "hpo/core/trial.hpp"
#include "hpo/tuner/devices/attempt_wait.hpp"

namespace hpo::tuner {

/// An attempt that is chosen and not started yet, because no worker slot or not enough memory of the device is free.
struct WaitingAttempt {
    std::int64_t number = 0;  ///< of its trial
    Attempt attempt;
    bool fresh_worker = false;
    std::int64_t least_bytes = 0;  ///< asked of the device even if less is predicted, because an earlier attempt ran out of less
    /// After its pause, at most so long it waits until the device has free what it is estimated to require, and at least `free_bytes`.
    std::optional<double> wait_seconds{};
    double wait_interval_seconds = 0;   ///< between two looks at what the device has free; 0: at each call
    double pause_seconds = 0;           ///< it does not start before so long after it was chosen
    std::optional<Stopwatch> looked{};  ///< since the last look
    std::int64_t free_bytes = 0;
    bool other_device = false;  ///< it starts on another device than its plan says, if there is one
    bool alone = false;         ///< it starts when no other attempt runs, and none is started beside it
    bool timed_out = false;     ///< it starts although too little was free for `wait_seconds`
    Stopwatch chosen{};

    /// How long it still waits, at most. 0 or less: no longer.
    [[nodiscard]] double patience_seconds() const { return pause_seconds + wait_seconds.value_or(0) - chosen.seconds(); }
    /// True if it pauses or waits for free memory, and its time is not up.
    [[nodiscard]] bool is_patient() const { return patience_seconds() > 0; }
    /// What it waits for, if it cannot start now.
    [[nodiscard]] AttemptWait wait(bool is_slot_free) const {
        using What = AttemptWait::What;
        const bool pauses = pause_seconds > chosen.seconds();
        return {.what = pauses          ? What::pause
                        : is_patient()  ? What::free_memory
                        : alone         ? What::others
                        : !is_slot_free ? What::worker
                                        : What::memory,
                .seconds = pauses ? pause_seconds - chosen.seconds() : std::max(0.0, patience_seconds()),
                .need_bytes = attempt.estimate ? attempt.estimate->need : std::nullopt};
    }
};

/// Holds back each attempt until its predicted memory is reserved. If the study predicts no memory, attempts start at once. If it does, an
/// attempt without a prediction has the device alone. A prediction is missing, for example, if it took too long.
class AttemptReservations {
public:
    /// Bytes that are free on the device now, or nullopt if that is not known.
    using FreeNow = std::function<std::optional<std::int64_t>()>;

    /// If `reservations` is null, an attempt starts at once unless it waits or has the device alone. `predicts` says whether the study
    /// predicts memory. It becomes true with the first prediction.
    AttemptReservations(Reservations* reservations, bool predicts, FreeNow free_now = {})
        : reservations_{reservations}, predicts_{predicts}, free_now_{std::move(free_now)} {}

    /// Reserves memory for an attempt, and gives the attempt back to the caller. Returns nullopt if the memory or a worker slot is not
    /// free. The attempt then waits here.
    [[nodiscard]] std::optional<WaitingAttempt> admit(WaitingAttempt attempt, bool is_slot_free);
    /// Reserves memory for the oldest waiting attempt that fits now, and returns it. Returns nullopt if none fits.
    [[nodiscard]] std::optional<WaitingAttempt> next();
    /// The bytes of the device that are reserved for the trial's attempt. Returns nullopt if it has no reservation.
    [[nodiscard]] std::optional<std::int64_t> reservation(std::int64_t number) const {
        const std::size_t at = place_of(number);
        return at < bytes_.size() ? std::optional{bytes_[at]} : std::nullopt;
    }
    /// Shrinks the reservation of the trial's attempt to `bytes`. The rest is free for other attempts.
    void shrink(std::int64_t number, std::int64_t bytes);
    /// Releases the reservation of the trial's attempt, which is over or will not start. Returns the bytes that were reserved for it.
    std::optional<std::int64_t> release(std::int64_t number);
    void reported(std::int64_t number, std::int64_t step) {
        if (reservations_ && reservation(number)) reservations_->reported(number, step);
    }
    [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }
    /// How many of the device's `slots` worker slots are kept for attempts that wait here. An attempt that pauses or waits for free memory
    /// keeps none until its time is up: others run meanwhile. But if more than `slots` such attempts came and none on the device ended well
    /// since, each further one keeps a slot. Else every trial of the study would begin, and wait.
    [[nodiscard]] std::size_t kept_slots(std::size_t slots) const;
    /// The attempts that pause or wait for free memory, and how long the first of them does so at most from now on.
    struct Patience {
        std::size_t attempts = 0;
        double seconds = 0;
    };
    [[nodiscard]] Patience patience() const;
    /// Call it if an attempt on the device ended well. So others may run beside those that wait.
    void ended_well() noexcept { waits_in_a_row_ = 0; }
    [[nodiscard]] std::size_t admitted() const noexcept { return running_.size(); }
    /// The bytes of the device that are reserved for this session's attempts.
    [[nodiscard]] std::int64_t reserved_bytes() const { return std::accumulate(bytes_.begin(), bytes_.end(), std::int64_t{0}); }
    /// Gives up the attempts that wait here, for another device.
    [[nodiscard]] std::vector<WaitingAttempt> take_waiting() { return std::exchange(waiting_, {}); }
    /// Gives up those that wait here and for which `is_wanted` holds, oldest first.
    template <std::predicate<const WaitingAttempt&> Wanted>
    void take_waiting(std::vector<WaitingAttempt>& taken, const Wanted& is_wanted) {
        const auto rest = std::stable_partition(waiting_.begin(), waiting_.end(), std::not_fn(is_wanted));
        std::move(rest, waiting_.end(), std::back_inserter(taken));
        waiting_.erase(rest, waiting_.end());
    }

private:
    /// The trial's index in holders_ and bytes_, or their size if it has no reservation.
    [[nodiscard]] std::size_t place_of(std::int64_t number) const {
        return static_cast<std::size_t>(std::find(holders_.begin(), holders_.end(), number) - holders_.begin());
    }
    [[nodiscard]] bool takes(WaitingAttempt& each);
    [[nodiscard]] bool reserves(const WaitingAttempt& each);
    /// False if another attempt has the device alone, or if this one shall and others run or it is behind one that shall.
    [[nodiscard]] bool may_run_beside_others(const WaitingAttempt& each) const;
    [[nodiscard]] std::optional<std::int64_t> free_now();
    /// True if the attempt does not pause or wait for free memory, or no longer.
    [[nodiscard]] bool has_waited(WaitingAttempt& each);

    static constexpr std::int64_t whole_device = std::int64_t{1} << 60;  ///< more than any device has, so all of it is reserved

    Reservations* reservations_;
    bool predicts_;
    FreeNow free_now_;
    std::optional<std::optional<std::int64_t>> seen_free_;  ///< what free_now_ told in this call of admit or next; it may be slow
    std::vector<WaitingAttempt> waiting_;
    std::size_t waits_in_a_row_ = 0;       ///< attempts that came to pause or wait for free memory since one ended well
    std::vector<std::int64_t> running_;    ///< trials whose attempts were admitted
    std::optional<std::int64_t> alone_{};  ///< the one of them that has the device alone
    // Two vectors rather than a map: they hold few elements and compile fast.
    /// The trials that have a reservation. `bytes_` has the bytes of each at the same index.
    std::vector<std::int64_t> holders_;
    std::vector<std::int64_t> bytes_;
};

inline std::optional<WaitingAttempt> AttemptReservations::admit(WaitingAttempt attempt, bool is_slot_free) {
    seen_free_.reset();
    if (is_slot_free && takes(attempt)) return attempt;
    if (attempt.is_patient()) ++waits_in_a_row_;
    waiting_.push_back(std::move(attempt));
    return std::nullopt;
}

inline std::optional<WaitingAttempt> AttemptReservations::next() {
    seen_free_.reset();
    const auto found = std::find_if(waiting_.begin(), waiting_.end(), [this](WaitingAttempt& each) { return takes(each); });
    if (found == waiting_.end()) return std::nullopt;
    WaitingAttempt attempt = std::move(*found);
    waiting_.erase(found);
    return attempt;
}

inline std::size_t AttemptReservations::kept_slots(std::size_t slots) const {
    const auto patient = static_cast<std::size_t>(
        std::count_if(waiting_.begin(), waiting_.end(), [](const WaitingAttempt& each) { return each.is_patient(); }));
    const std::size_t too_many = waits_in_a_row_ > slots ? waits_in_a_row_ - slots : 0;
    return waiting_.size() - patient + std::min(patient, too_many);
}

inline AttemptReservations::Patience AttemptReservations::patience() const {
    Patience found;
    for (const WaitingAttempt& each : waiting_) {
        if (!each.is_patient()) continue;
        const double left = each.patience_seconds();
        found.seconds = found.attempts++ == 0 ? left : std::min(found.seconds, left);
    }
    return found;
}

inline void AttemptReservations::shrink(std::int64_t number, std::int64_t bytes) {
    const std::size_t at = place_of(number);
    if (at == bytes_.size() || bytes >= bytes_[at]) return;
    bytes_[at] = bytes;
    reservations_->shrink(number, bytes);
}

inline std::optional<std::int64_t> AttemptReservations::release(std::int64_t number) {
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

inline bool AttemptReservations::takes(WaitingAttempt& each) {
    if (!may_run_beside_others(each) || !has_waited(each) || !reserves(each)) return false;
    running_.push_back(each.number);
    if (each.alone) alone_ = each.number;
    return true;
}

inline bool AttemptReservations::may_run_beside_others(const WaitingAttempt& each) const {
    if (alone_ || (each.alone && !running_.empty())) return false;
    for (const WaitingAttempt& older : waiting_) {
        if (&older == &each) break;
        if (older.alone && !older.is_patient()) return false;  // else the device would never be empty
    }
    return true;
}

inline std::optional<std::int64_t> AttemptReservations::free_now() {
    if (!seen_free_) seen_free_ = free_now_ ? free_now_() : std::nullopt;
    return *seen_free_;
}

inline bool AttemptReservations::has_waited(WaitingAttempt& each) {
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

inline bool AttemptReservations::reserves(const WaitingAttempt& each) {
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

}  // namespace hpo::tuner
