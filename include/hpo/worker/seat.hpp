// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "hpo/core/time.hpp"
#include "hpo/trainer/executor.hpp"
#include "hpo/worker/environment.hpp"
#include "hpo/worker/remote_worker.hpp"

namespace hpo::worker {

/// The attempt that a worker is at.
struct Running {
    std::int64_t trial = 0;
    std::int64_t oom_kills_before = 0;  ///< of the kernel, when it began
    bool stop_asked = false;
    bool interrupted = false;
    Stopwatch watch;  ///< since then
};

/// A pool's place for one worker.
struct Seat {
    std::shared_ptr<RemoteWorker> worker;  ///< null: none yet, or it died
    Environment environment;               ///< that it was started with
    std::optional<Running> running;
    std::optional<std::int64_t> last_trial;
    bool leaving = false;  ///< it said that it ends

    [[nodiscard]] bool idle() const { return worker && !running && !leaving; }
};

/// The worker's seat, or null.
[[nodiscard]] inline Seat* seat_of(std::span<Seat> seats, const RemoteWorker& worker) {
    for (Seat& seat : seats) {
        if (seat.worker.get() == &worker) return &seat;
    }
    return nullptr;
}

/// The seat without a running attempt whose worker suits a job best, or null. A fresh worker takes the place of the one
/// that the trial had before, whose memory the device may need.
[[nodiscard]] inline Seat* choose_seat(std::span<Seat> seats, const Job& job, const Environment& environment) {
    Seat* best = nullptr;
    int best_rank = 0;
    for (Seat& seat : seats) {
        if (seat.running) continue;
        int rank = 1;  // its worker must go first
        if (job.fresh_worker) rank = seat.last_trial == job.trial ? 3 : seat.worker ? 1 : 2;
        else if (!seat.worker) rank = 2;
        else if (seat.idle() && seat.environment == environment) rank = 3;
        if (rank > best_rank) {
            best = &seat;
            best_rank = rank;
        }
    }
    return best;
}

}  // namespace hpo::worker
