// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/tuner/in_process.hpp"

namespace hpo::tuner {

/// Runs up to `slots` jobs at once, each in a thread of this process. Several threads call the trial function at the same time.
///
///     hpo::tuner::InThreads threads{4, [](hpo::tuner::RunningJob& job) { return error_of(job.params()); }};
///     tuner.optimize(store, "study", space, threads);
///
/// With a capacity (`{4, function, {.capacity_bytes = 16 << 20}}`) and a guard that estimates memory, only those trials run at once whose
/// estimates together fit into it.
///
/// A report waits until the tuner's thread has judged it. A stop ends a trial at its next report as interrupted. If a trial does not
/// report, it runs to its end and its value counts. The destructor waits for the trials that still run.
///
/// Thread safety: as Executor. The trial function is called in several threads at once.
class InThreads final : public Executor {
public:
    /// `function(RunningJob&)` returns one value, or one for each objective. Throws bad_value if `slots` is 0.
    template <class F>
    requires std::invocable<const F&, RunningJob&> InThreads(std::size_t slots, F function, TrialMemory memory = {})
        : function_{[function = std::move(function)](RunningJob& job) { return as_values(function(job)); }},
          slots_{slots},
          memory_{checked(memory)} {
        if (slots == 0) throw bad_value("slots", "0", "1 or more");
    }
    ~InThreads() override {
        interrupt();
        for (Slot& slot : running_) slot.thread.join();
    }
    InThreads(const InThreads&) = delete;
    InThreads& operator=(const InThreads&) = delete;

    [[nodiscard]] std::size_t free_slots() const override { return slots_ - std::min(slots_, running_.size()); }
    void submit(const Job& job, ExecutorEvents& events) override;
    void wait(ExecutorEvents& events, double timeout_seconds) override;
    void interrupt() override;
    [[nodiscard]] std::optional<std::int64_t> capacity_bytes() const override { return memory_.capacity_bytes; }
    [[nodiscard]] bool shares_capacity() const override { return slots_ > 1; }

private:
    /// One job, and what its thread has told that the tuner's thread has not taken yet.
    struct Slot final : private ExecutorEvents {
        Slot(InThreads& all, Job its_job) : owner{all}, job{std::move(its_job)} {}

        void run();
        EventAnswer on(std::int64_t trial, AttemptEvent event) override;
        /// Returns false if the trial should stop.
        bool tell(const Report& told);
        void tell(MemoryMark mark);

        InThreads& owner;
        const Job job;
        std::thread thread;
        // The owner's mutex guards the members below.
        std::vector<MemoryMark> marks;          ///< not told yet
        std::optional<Report> report;           ///< waits to be judged
        std::optional<bool> answer;             ///< to the report; true: the trial goes on
        bool cut_short = false;                 ///< true if an interruption ended it, not a pruner
        std::optional<AttemptOutcome> outcome;  ///< set when it has ended

        [[nodiscard]] bool asks() const { return report && !answer; }
    };
    using Slots = std::list<Slot>;

    /// The first job that has something to tell. After an interruption only ends are told, not reports. Hold the mutex.
    [[nodiscard]] Slots::iterator news() {
        return std::ranges::find_if(
            running_, [&](const Slot& slot) { return slot.outcome || (!interrupted_ && (slot.asks() || !slot.marks.empty())); });
    }
    /// Tells the tuner what one job has told, or its end. Returns false if no job has told anything.
    bool deliver(ExecutorEvents& events);
    /// Lets the tuner judge a report. If the tuner throws, that is not the trial's failure. The trial is then asked to stop.
    void answer(Slot& slot, ExecutorEvents& events, const Report& report);

    std::function<std::vector<double>(RunningJob&)> function_;
    std::size_t slots_;
    TrialMemory memory_;
    Slots running_;  ///< changed by the tuner's thread only
    std::mutex mutex_;
    std::condition_variable told_;      ///< wakes the tuner's thread
    std::condition_variable answered_;  ///< wakes the threads of the jobs
    bool interrupted_ = false;
};

inline void InThreads::submit(const Job& job, ExecutorEvents& events) {
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
    events.on(job.trial, AttemptStarted{});
}

inline void InThreads::wait(ExecutorEvents& events, double timeout_seconds) {
    {
        std::unique_lock lock{mutex_};
        told_.wait_for(lock, std::chrono::duration<double>(timeout_seconds), [&] { return news() != running_.end(); });
    }
    while (deliver(events)) {
    }
}

inline void InThreads::interrupt() {
    {
        const std::lock_guard lock{mutex_};
        interrupted_ = true;
    }
    answered_.notify_all();
}

inline void InThreads::Slot::run() {
    RunningJob running{job, *this, owner.memory_};
    AttemptOutcome end;
    try {
        end = run_attempt([&] { return owner.function_(running); }, [&] { return running.stopped(); });
    } catch (...) {  // a SpaceRejection: the parameters were drawn already
        end.failure = current_failure();
    }
    running.conclude(end);
    const std::lock_guard lock{owner.mutex_};
    if (end.kind == OutcomeKind::stopped && cut_short) end.kind = OutcomeKind::interrupted;
    outcome = std::move(end);
    owner.told_.notify_all();
}

inline EventAnswer InThreads::Slot::on(std::int64_t /*trial*/, AttemptEvent event) {
    if (const auto* const told = std::get_if<Report>(&event)) return {.goes_on = tell(*told)};
    if (auto* const mark = std::get_if<MemoryMark>(&event)) tell(std::move(*mark));
    return {};  // a job in a thread tells nothing else: its start and its end are known here
}

inline bool InThreads::Slot::tell(const Report& told) {
    std::unique_lock lock{owner.mutex_};
    report = told;
    owner.told_.notify_all();
    owner.answered_.wait(lock, [&] { return answer || owner.interrupted_; });
    report.reset();
    if (answer) return *std::exchange(answer, std::nullopt);
    cut_short = true;
    return false;
}

inline void InThreads::Slot::tell(MemoryMark mark) {
    const std::lock_guard lock{owner.mutex_};
    marks.push_back(std::move(mark));
    owner.told_.notify_all();
}

inline bool InThreads::deliver(ExecutorEvents& events) {
    std::optional<Report> report;
    std::vector<MemoryMark> marks;
    Slots::iterator slot;
    bool has_ended = false;
    {
        const std::lock_guard lock{mutex_};
        slot = news();
        if (slot == running_.end()) return false;
        if (!slot->outcome && slot->asks()) report = slot->report;
        has_ended = slot->outcome.has_value();
        marks = std::exchange(slot->marks, {});
    }
    const std::int64_t trial = slot->job.trial;
    if (!has_ended) {
        for (MemoryMark& mark : marks) events.on(trial, std::move(mark));
        if (report) answer(*slot, events, *report);
        return true;
    }
    slot->thread.join();
    AttemptOutcome outcome = std::move(*slot->outcome);
    outcome.memory = std::move(marks);
    running_.erase(slot);
    events.on(trial, std::move(outcome));
    return true;
}

inline void InThreads::answer(Slot& slot, ExecutorEvents& events, const Report& report) {
    const auto tell = [&](bool goes_on, bool cut_short) {
        {
            const std::lock_guard lock{mutex_};
            if (!slot.report) return;  // an interruption came first
            slot.answer = goes_on;
            slot.cut_short = cut_short;
        }
        answered_.notify_all();
    };
    bool goes_on = false;
    try {
        goes_on = events.on(slot.job.trial, report).goes_on;
    } catch (...) {
        tell(false, true);
        throw;
    }
    tell(goes_on, false);
}

}  // namespace hpo::tuner
