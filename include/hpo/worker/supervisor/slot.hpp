// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "hpo/trainer/executor.hpp"
#include "hpo/worker/environment.hpp"
#include "hpo/worker/supervisor/event_loop.hpp"
#include "hpo/worker/supervisor/remote_worker.hpp"

namespace hpo::worker {

/// The attempt that a worker runs.
struct Running {
    std::int64_t trial = 0;
    std::optional<std::int64_t> oom_kills_before{};  ///< oom_kills() when it began
    std::size_t xids_before = 0;                     ///< XidNotes::now() when it began
    std::optional<double> most_seconds{};            ///< Job::most_seconds
    bool prunes_itself = false;                      ///< Job::prunes_itself
    bool stop_asked = false;
    bool interrupted = false;
    std::string overdue{};  ///< why it was ended: it took too long, or said nothing for too long; empty: neither
    Moment began{};
    Moment heard{};  ///< its worker's latest message
    /// Of the time since `began`: this process did not look, perhaps because it was stopped together with its workers.
    Moment::duration excused_time{};
    Moment::duration excused_silence{};  ///< the same, of the time since `heard`
};

/// A pool's slot for one worker.
struct WorkerSlot {
    std::shared_ptr<RemoteWorker> worker;  ///< null: none yet, or it died
    Environment environment;               ///< the environment that it was started with
    std::optional<Running> running;
    std::optional<std::int64_t> last_trial;
    bool ended = false;         ///< true if the end of its attempt was not delivered yet
    std::int64_t attempts = 0;  ///< of this worker
    bool leaving = false;       ///< true if the worker is about to end, or to be ended

    [[nodiscard]] bool idle() const { return worker && !running && !leaving; }
};

/// Time in which this process did not look at its workers counts for no attempt: it may have been stopped together with them, or may have
/// waited for the store.
inline void excuse_pause(std::span<WorkerSlot> slots, Moment::duration pause, Moment now) {
    constexpr std::chrono::milliseconds shortest{250};  // far below a limit that anybody sets
    if (pause < shortest) return;
    for (WorkerSlot& slot : slots) {
        if (!slot.running) continue;
        slot.running->excused_time += std::min(pause, now - slot.running->began);
        slot.running->excused_silence += std::min(pause, now - slot.running->heard);
    }
}

/// The worker's slot, or null.
[[nodiscard]] inline WorkerSlot* slot_of(std::span<WorkerSlot> slots, const RemoteWorker& worker) {
    for (WorkerSlot& slot : slots) {
        if (slot.worker.get() == &worker) return &slot;
    }
    return nullptr;
}

/// The free slot whose worker suits a job best, or null. If the job wants a fresh worker, it replaces the one that the trial had before,
/// because the device may need that one's memory.
[[nodiscard]] inline WorkerSlot* choose_slot(std::span<WorkerSlot> slots, const Job& job, const Environment& environment) {
    WorkerSlot* best = nullptr;
    int best_rank = 0;
    for (WorkerSlot& slot : slots) {
        if (slot.running || slot.ended) continue;
        int rank = 1;  // its worker has to be replaced
        if (job.fresh_worker) rank = slot.last_trial == job.trial ? 3 : slot.worker ? 1 : 2;
        else if (!slot.worker) rank = 2;
        else if (slot.idle() && slot.environment == environment) rank = 3;
        if (rank > best_rank) {
            best = &slot;
            best_rank = rank;
        }
    }
    return best;
}

}  // namespace hpo::worker
