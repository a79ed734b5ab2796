// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "hpo/pruner/concept.hpp"
#include "hpo/trainer/executor.hpp"
#include "hpo/tuner/bookkeeping.hpp"
#include "hpo/tuner/devices/devices.hpp"
#include "hpo/tuner/devices/reservation.hpp"
#include "hpo/tuner/replays.hpp"

namespace hpo::tuner {

/// Takes what running attempts tell of themselves. It writes it to the books, asks the pruner, and gives reserved memory back early.
template <Pruner P>
class AttemptReports : public ExecutorEvents {
public:
    AttemptReports(P& pruner, Bookkeeping& books, Devices& devices) : pruner_{pruner}, books_{books}, devices_{devices} {}

    void on_started(std::int64_t number, std::int64_t worker_pid) override {
        if (!Replays::is_replay(number)) books_.trial(number).attempts.back().worker_pid = worker_pid;
    }

    bool on_report(std::int64_t number, const Report& report) override {
        if (Replays::is_replay(number)) return false;
        reservations_of(number).reported(number, report.step);
        const Verdict verdict = books_.report_and_judge(number, report, pruner_);
        if (verdict.prunes()) prune_reasons_[number] = verdict.reason;
        return verdict.prunes();
    }

    void on_memory(std::int64_t number, const MemoryMark& mark) override {
        if (Replays::is_replay(number)) return;
        books_.memory_mark(number, mark);
        if (mark.name == settled_mark && mark.reading.limit)
            reservations_of(number).shrink(number, *mark.reading.limit + outside_allocator(books_.trial(number).attempts.back()));
    }

    void on_checkpoint(std::int64_t number, std::int64_t step) override {
        if (!Replays::is_replay(number)) books_.checkpointed(number, step);
    }

protected:
    /// Why the pruner stopped the trial. Empty if it did not.
    [[nodiscard]] std::string take_prune_reason(std::int64_t number) { return std::exchange(prune_reasons_[number], {}); }
    void forget(std::int64_t number) { prune_reasons_.erase(number); }

private:
    [[nodiscard]] AttemptReservations& reservations_of(std::int64_t number) {
        return devices_.of(books_.trial(number).attempts.back().plan.device).reservations;
    }

    P& pruner_;
    Bookkeeping& books_;
    Devices& devices_;
    std::map<std::int64_t, std::string> prune_reasons_;
};

}  // namespace hpo::tuner
