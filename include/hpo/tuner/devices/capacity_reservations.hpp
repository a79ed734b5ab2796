// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "hpo/core/reservations.hpp"

namespace hpo::tuner {

/// Shares an executor's capacity among the attempts of one call of `optimize`, so that what is estimated for those that run at once fits
/// into it. An attempt gets its `comfort_bytes` if they are free, else its `need_bytes`. One that requires more than there is gets all of
/// it and runs alone. Younger requests may pass an older one that does not fit, but only `most_passes` of them.
///
/// Thread safety: none.
class CapacityReservations final : public Reservations {
public:
    /// With 0, memory stays unused while a large attempt waits. Without a limit, that one waits as long as small ones come.
    static constexpr int most_passes = 30;

    explicit CapacityReservations(std::int64_t capacity_bytes) : capacity_bytes_{capacity_bytes} {}

    [[nodiscard]] std::optional<std::int64_t> reserve(const ReservationRequest& request) override {
        const auto need = std::min(request.need_bytes, capacity_bytes_);
        const auto own = find_or_add(request.trial);
        const bool would_starve = std::any_of(waiting_.begin(), own, [](const Waiting& older) { return older.passes >= most_passes; });
        if (would_starve || need > free_bytes()) return std::nullopt;
        std::for_each(waiting_.begin(), own, [](Waiting& older) { ++older.passes; });
        waiting_.erase(own);
        held_.push_back({.trial = request.trial, .bytes = request.comfort_bytes <= free_bytes() ? request.comfort_bytes : need});
        return held_.back().bytes;
    }
    void shrink(std::int64_t trial, std::int64_t bytes) override {
        for (Held& each : held_) {
            if (each.trial == trial) each.bytes = std::min(each.bytes, bytes);
        }
    }
    void release(std::int64_t trial) override {
        std::erase_if(waiting_, [&](const Waiting& each) { return each.trial == trial; });
        std::erase_if(held_, [&](const Held& each) { return each.trial == trial; });
    }

private:
    struct Waiting {
        std::int64_t trial = 0;
        int passes = 0;  ///< younger requests that were granted since this one came
    };
    struct Held {
        std::int64_t trial = 0;
        std::int64_t bytes = 0;
    };

    [[nodiscard]] std::vector<Waiting>::iterator find_or_add(std::int64_t trial) {
        const auto found = std::ranges::find(waiting_, trial, &Waiting::trial);
        return found != waiting_.end() ? found : waiting_.insert(found, Waiting{.trial = trial});
    }
    [[nodiscard]] std::int64_t free_bytes() const {
        std::int64_t free = capacity_bytes_;
        for (const Held& each : held_) free -= each.bytes;
        return free;
    }

    std::int64_t capacity_bytes_;
    std::vector<Waiting> waiting_;  ///< requests that wait, the oldest first
    std::vector<Held> held_;
};

}  // namespace hpo::tuner
