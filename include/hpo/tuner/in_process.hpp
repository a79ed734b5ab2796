// SPDX-License-Identifier: MIT
#pragma once

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

#include "hpo/base/shortened_log.hpp"
#include "hpo/base/time.hpp"
#include "hpo/failure/classify.hpp"
#include "hpo/space/space_trial.hpp"
#include "hpo/trainer/executor.hpp"

namespace hpo::tuner {

/// What a trial function sees of its attempt. Its parameters are known before it runs.
class RunningJob {
public:
    RunningJob(const Job& job, ExecutorEvents& events) : job_{job}, events_{events} {}
    [[nodiscard]] const ParamSet& params() const noexcept { return job_.params; }
    [[nodiscard]] const ExecutionPlan& plan() const noexcept { return job_.plan; }
    [[nodiscard]] std::uint64_t seed() const noexcept { return job_.seed; }
    [[nodiscard]] std::int64_t number() const noexcept { return job_.trial; }
    /// Call it before the report of the last step. The trial is then not pruned at that step.
    void last_step(std::int64_t step) noexcept { last_step_ = step; }
    /// Tells an intermediate value. If it returns false, the function should return; its value is then ignored.
    [[nodiscard]] bool report(std::int64_t step, double value);
    [[nodiscard]] bool stopped() const noexcept { return stopped_; }
    /// Adds a line to the trial's log, which `hpo-analyze trial` shows.
    void log(std::string_view line) { log_.add_line(line); }
    [[nodiscard]] std::string take_log() { return std::exchange(log_, ShortenedLog{}).text(); }
    /// Throws again what the tuner threw during a report. This is never the trial's failure, even if the trial function caught it.
    void rethrow_listener_error() const {
        if (listener_error_) std::rethrow_exception(listener_error_);
    }

private:
    const Job& job_;
    ExecutorEvents& events_;
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
class InProcess final : public Executor {
public:
    using Function = std::function<std::vector<double>(RunningJob&)>;

    explicit InProcess(Function function) : function_{std::move(function)} {}

    [[nodiscard]] std::size_t free_slots() const override { return 1; }
    void submit(const Job& job, ExecutorEvents& events) override;
    void wait(ExecutorEvents& /*events*/, double /*timeout_seconds*/) override {}
    void interrupt() override {}
    [[nodiscard]] std::optional<std::int64_t> capacity_bytes() const override { return std::nullopt; }

private:
    Function function_;
};

inline bool RunningJob::report(std::int64_t step, double value) {
    try {
        if (!events_.on_report(job_.trial, Report{.step = step, .value = value, .is_last = step == last_step_})) stopped_ = true;
    } catch (...) {
        listener_error_ = std::current_exception();
        throw;
    }
    return !stopped_;
}

inline Failure current_failure() {
    try {
        throw;
    } catch (const std::bad_alloc& error) {
        return classify_text({.type = "std::bad_alloc", .message = error.what()});
    } catch (const std::exception& error) {
        return classify_text({.type = "std::exception", .message = error.what()});
    } catch (...) {
        return classify_text({.type = {}, .message = "an exception that is no std::exception"});
    }
}

inline void InProcess::submit(const Job& job, ExecutorEvents& events) {
    events.on_started(job.trial, 0);
    RunningJob running{job, events};
    AttemptOutcome outcome = run_attempt([&] { return function_(running); }, [&] { return running.stopped(); });
    running.rethrow_listener_error();
    outcome.log = running.take_log();
    events.on_end(job.trial, std::move(outcome));
}

}  // namespace hpo::tuner
