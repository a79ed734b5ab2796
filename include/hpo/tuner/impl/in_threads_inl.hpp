// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "hpo/base/inline.hpp"
#include "hpo/tuner/in_threads.hpp"

namespace hpo::tuner {

HPO_INLINE void InThreads::submit(const Job& job, ExecutorEvents& events) {
    if (running_.empty()) {  // an earlier stop does not concern new jobs
        const std::lock_guard lock{mutex_};
        interrupted_ = false;
    }
    Slot& slot = running_.emplace_back(*this, job);
    try {
        slot.thread = std::thread{[&slot] { slot.run(); }};
    } catch (...) {
        running_.pop_back();
        throw;
    }
    events.on_started(job.trial, 0);
}

HPO_INLINE void InThreads::wait(ExecutorEvents& events, double timeout_seconds) {
    {
        std::unique_lock lock{mutex_};
        told_.wait_for(lock, std::chrono::duration<double>(timeout_seconds), [&] { return news() != running_.end(); });
    }
    while (deliver(events)) {
    }
}

HPO_INLINE void InThreads::interrupt() {
    {
        const std::lock_guard lock{mutex_};
        interrupted_ = true;
    }
    answered_.notify_all();
}

HPO_INLINE void InThreads::Slot::run() {
    RunningJob running{job, *this};
    AttemptOutcome end;
    try {
        end = run_attempt([&] { return owner.function_(running); }, [&] { return running.stopped(); });
    } catch (...) {  // a SpaceRejection: the parameters were drawn already
        end.failure = current_failure();
    }
    end.log = running.take_log();
    const std::lock_guard lock{owner.mutex_};
    if (end.kind == OutcomeKind::stopped && cut_short) end.kind = OutcomeKind::interrupted;
    outcome = std::move(end);
    owner.told_.notify_all();
}

HPO_INLINE bool InThreads::Slot::on_report(std::int64_t /*trial*/, const Report& told) {
    std::unique_lock lock{owner.mutex_};
    report = told;
    owner.told_.notify_all();
    owner.answered_.wait(lock, [&] { return answer || owner.interrupted_; });
    report.reset();
    if (answer) return *std::exchange(answer, std::nullopt);
    cut_short = true;
    return true;
}

HPO_INLINE bool InThreads::deliver(ExecutorEvents& events) {
    std::optional<Report> report;
    Slots::iterator slot;
    {
        const std::lock_guard lock{mutex_};
        slot = news();
        if (slot == running_.end()) return false;
        if (!slot->outcome) report = slot->report;
    }
    if (report) {
        answer(*slot, events, *report);
        return true;
    }
    slot->thread.join();
    const std::int64_t trial = slot->job.trial;
    AttemptOutcome outcome = std::move(*slot->outcome);
    running_.erase(slot);
    events.on_end(trial, std::move(outcome));
    return true;
}

HPO_INLINE void InThreads::answer(Slot& slot, ExecutorEvents& events, const Report& report) {
    const auto tell = [&](bool stop, bool cut_short) {
        {
            const std::lock_guard lock{mutex_};
            if (!slot.report) return;  // an interruption came first
            slot.answer = stop;
            slot.cut_short = cut_short;
        }
        answered_.notify_all();
    };
    bool stop = true;
    try {
        stop = events.on_report(slot.job.trial, report);
    } catch (...) {
        tell(true, true);
        throw;
    }
    tell(stop, false);
}

}  // namespace hpo::tuner
