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

namespace hpo::tuner::inline devices {

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

}  // namespace hpo::tuner::devices

#ifndef HPO_COMPILED
#include "hpo/tuner/devices/impl/attempt_reservations_inl.hpp"
#endif
