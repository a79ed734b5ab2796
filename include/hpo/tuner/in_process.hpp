// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/base/bytes.hpp"
#include "hpo/base/error.hpp"
#include "hpo/base/shortened_log.hpp"
#include "hpo/base/time.hpp"
#include "hpo/core/device_word.hpp"
#include "hpo/failure/classify.hpp"
#include "hpo/space/space_trial.hpp"
#include "hpo/trainer/executor.hpp"

namespace hpo::tuner {

/// The memory of the trials that an executor runs in this process.
struct TrialMemory {
    /// What all trials that run at once may hold together. A memory guard compares its estimates with it. Nothing stops a trial function
    /// that takes more: it keeps to RunningJob::memory_limit_bytes by itself. If nullopt, memory is not limited.
    std::optional<std::int64_t> capacity_bytes{};
};

/// Throws bad_value for a capacity that no trial could use.
[[nodiscard]] inline TrialMemory checked(TrialMemory memory) {
    if (memory.capacity_bytes && *memory.capacity_bytes < 1)
        throw bad_value("capacity_bytes", std::to_string(*memory.capacity_bytes), "1 or more");
    return memory;
}

/// Thrown by a trial function that ran out of memory. Its attempt then fails as out_of_memory with these figures, and the recovery policy
/// may run it again.
///
///     if (held + wanted > *job.memory_limit_bytes()) throw OutOfMemory{{.requested_bytes = wanted, .allocated_bytes = held}};
class OutOfMemory : public std::bad_alloc {
public:
    struct Figures {
        std::optional<std::int64_t> requested_bytes{};  ///< what was asked for and refused
        std::optional<std::int64_t> allocated_bytes{};  ///< what the attempt held at that moment
    };
    OutOfMemory() : OutOfMemory{Figures{}} {}
    explicit OutOfMemory(const Figures& figures) : figures_{figures} {
        if (figures.requested_bytes) text_ += ": asked for " + format_bytes(*figures.requested_bytes);
        if (figures.allocated_bytes) text_ += " with " + format_bytes(*figures.allocated_bytes) + " in use";
    }
    [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }
    [[nodiscard]] const Figures& figures() const noexcept { return figures_; }

private:
    Figures figures_;
    std::string text_ = "out of memory";
};

/// What a trial function sees of its attempt. Its parameters are known before it runs.
class RunningJob {
public:
    RunningJob(const Job& job, ExecutorEvents& events, TrialMemory memory = {}) : job_{job}, events_{events}, memory_{memory} {}
    [[nodiscard]] const ParamSet& params() const noexcept { return job_.params; }
    [[nodiscard]] const ExecutionPlan& plan() const noexcept { return job_.plan; }
    [[nodiscard]] std::uint64_t seed() const noexcept { return job_.seed; }
    [[nodiscard]] std::int64_t number() const noexcept { return job_.trial; }
    /// Call it before the report of the last step. The trial is then not pruned at that step.
    void last_step(std::int64_t step) noexcept { last_step_ = step; }
    /// Tells an intermediate value. If it returns false, the function should return; its value is then ignored.
    [[nodiscard]] bool report(std::int64_t step, double value);
    [[nodiscard]] bool stopped() const noexcept { return stopped_; }
    /// The most that this attempt may hold: what is reserved for it beside others, or what the plan or the executor allows. Nullopt if it
    /// is not limited.
    [[nodiscard]] std::optional<std::int64_t> memory_limit_bytes() const;
    /// Tells a reading of the attempt's memory at a moment with a name, such as "training_start". The highest `peak_allocated` and
    /// `peak_reserved` of an attempt are its peaks, from which guards learn. settled_mark says that the attempt will not hold more than
    /// the reading's `limit`, and others may start beside it.
    void memory(std::string_view name, const MemoryReading& reading);
    /// Adds a line to the trial's log, which `hpo-analyze trial` shows.
    void log(std::string_view line) { log_.add_line(line); }
    /// Adds to the attempt's end what the function told before. Executors call it once.
    void conclude(AttemptOutcome& outcome);
    /// Throws again what the tuner threw during a report. This is never the trial's failure, even if the trial function caught it.
    void rethrow_listener_error() const {
        if (listener_error_) std::rethrow_exception(listener_error_);
    }

private:
    /// Passes on what the tuner throws, and keeps it for rethrow_listener_error.
    template <std::invocable Tell>
    auto tell(const Tell& event) {
        try {
            return event();
        } catch (...) {
            listener_error_ = std::current_exception();
            throw;
        }
    }
    /// Says of memory that ran out what the exception could not know.
    void complete(Failure& failure) const;

    const Job& job_;
    ExecutorEvents& events_;
    TrialMemory memory_;
    Stopwatch watch_;
    std::optional<std::int64_t> held_;  ///< the latest `allocated` that was told
    std::optional<std::int64_t> peak_allocated_;
    std::optional<std::int64_t> peak_reserved_;
    std::optional<std::int64_t> last_step_;
    bool stopped_ = false;
    ShortenedLog log_;
    std::exception_ptr listener_error_;
};

/// The result of a trial function, as one value for each objective.
[[nodiscard]] inline std::vector<double> as_values(double value) { return {value}; }
[[nodiscard]] inline std::vector<double> as_values(std::vector<double> values) { return values; }

/// Turns the current exception of a trial function into a failure. Call it inside the handler.
[[nodiscard]] Failure current_failure();

/// Calls `function() -> std::vector<double>` as one attempt. Afterwards `stopped()` says whether it obeyed a request to stop.
template <std::invocable F, std::predicate Stopped>
[[nodiscard]] AttemptOutcome run_attempt(F&& function, Stopped&& stopped) {
    AttemptOutcome outcome;
    const Stopwatch watch;
    try {
        outcome.values = function();
        outcome.kind = stopped() ? OutcomeKind::stopped : OutcomeKind::complete;
    } catch (const SpaceRejection&) {
        throw;
    } catch (...) {
        outcome.kind = OutcomeKind::failed;
        outcome.failure = current_failure();
    }
    outcome.seconds = watch.seconds();
    return outcome;
}

/// Runs each job to its end inside `submit`, in this process. It suits objectives that need no isolation. in_threads.hpp runs several at
/// once.
///
///     hpo::tuner::InProcess executor{[](hpo::tuner::RunningJob& job) { return error_of(job.params()); }, {.capacity_bytes = 16 << 20}};
class InProcess final : public Executor {
public:
    /// `function(RunningJob&)` returns one value, or one for each objective.
    template <class F>
    requires std::invocable<F&, RunningJob&>
    explicit InProcess(F function, TrialMemory memory = {})
        : function_{[function = std::move(function)](RunningJob& job) mutable { return as_values(function(job)); }},
          memory_{checked(memory)} {}

    [[nodiscard]] std::size_t free_slots() const override { return 1; }
    void submit(const Job& job, ExecutorEvents& events) override;
    void wait(ExecutorEvents& /*events*/, double /*timeout_seconds*/) override {}
    void interrupt() override {}
    [[nodiscard]] std::optional<std::int64_t> capacity_bytes() const override { return memory_.capacity_bytes; }

private:
    std::function<std::vector<double>(RunningJob&)> function_;
    TrialMemory memory_;
};

inline bool RunningJob::report(std::int64_t step, double value) {
    const Report report{.step = step, .value = value, .is_last = step == last_step_};
    if (!tell([&] { return events_.on(job_.trial, report).goes_on; })) stopped_ = true;
    return !stopped_;
}

inline std::optional<std::int64_t> RunningJob::memory_limit_bytes() const {
    const auto& own = job_.plan.cap_bytes;
    const auto& all = memory_.capacity_bytes;
    return own && all ? std::min(own, all) : own ? own : all;
}

inline void RunningJob::memory(std::string_view name, const MemoryReading& reading) {
    if (reading.allocated) held_ = reading.allocated;
    peak_allocated_ = std::max(peak_allocated_, reading.peak_allocated);
    peak_reserved_ = std::max(peak_reserved_, reading.peak_reserved);
    const MemoryMark mark{.name = std::string{name}, .seconds = watch_.seconds(), .step = {}, .reading = reading};
    tell([&] { events_.on(job_.trial, mark); });
}

inline void RunningJob::conclude(AttemptOutcome& outcome) {
    outcome.log = std::exchange(log_, ShortenedLog{}).text();
    outcome.peak_allocated = peak_allocated_;
    outcome.peak_reserved = peak_reserved_;
    if (outcome.failure) complete(*outcome.failure);
}

inline void RunningJob::complete(Failure& failure) const {
    const bool is_of_heap = failure.kind == FailureKind::host_out_of_memory && failure.type == "std::bad_alloc";
    if (is_of_heap && memory_limit_bytes() && is_cpu(job_.plan.device)) failure.kind = FailureKind::out_of_memory;
    if (failure.kind != FailureKind::out_of_memory) return;
    MemoryReading& known = failure.memory;
    if (!known.allocated) known.allocated = held_;
    const auto& cap = job_.plan.cap_bytes;
    const bool has_figures = known.allocated || failure.requested_bytes;
    if (!known.limit && cap && has_figures && known.allocated.value_or(0) + failure.requested_bytes.value_or(0) > *cap) known.limit = cap;
}

inline Failure current_failure() {
    try {
        throw;
    } catch (const OutOfMemory& error) {
        Failure failure{.kind = FailureKind::out_of_memory, .message = error.what(), .type = "hpo::tuner::OutOfMemory"};
        failure.requested_bytes = error.figures().requested_bytes;
        failure.memory.allocated = error.figures().allocated_bytes;
        return failure;
    } catch (const std::bad_alloc& error) {
        return classify_text({.type = "std::bad_alloc", .message = error.what()});
    } catch (const std::exception& error) {
        return classify_text({.type = "std::exception", .message = error.what()});
    } catch (...) {
        return classify_text({.type = {}, .message = "an exception that is no std::exception"});
    }
}

inline void InProcess::submit(const Job& job, ExecutorEvents& events) {
    events.on(job.trial, AttemptStarted{});
    RunningJob running{job, events, memory_};
    AttemptOutcome outcome = run_attempt([&] { return function_(running); }, [&] { return running.stopped(); });
    running.rethrow_listener_error();
    running.conclude(outcome);
    events.on(job.trial, std::move(outcome));
}

}  // namespace hpo::tuner
