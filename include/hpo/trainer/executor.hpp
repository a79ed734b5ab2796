// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hpo/core/memory_evidence.hpp"
#include "hpo/core/outcome.hpp"
#include "hpo/core/param_set.hpp"
#include "hpo/core/plan.hpp"
#include "hpo/core/runs_on.hpp"
#include "hpo/trainer/attempt_event.hpp"

namespace hpo {

/// One attempt, as the executor gets it.
struct Job {
    std::string study;
    std::int64_t trial = 0;  ///< number within the study
    int attempt = 0;
    ParamSet params;
    ExecutionPlan plan;
    std::uint64_t seed = 0;  ///< for the trainer's own randomness; the same in every attempt of the trial
    bool fresh_worker = false;
    std::string checkpoint_folder{};            ///< TrainerJob::checkpoint_folder
    std::optional<std::int64_t> resume_step{};  ///< TrainerJob::resume_step
    std::string model_folder{};                 ///< TrainerJob::model_folder
    std::string saved_model{};                  ///< folder of a model to evaluate instead of training; empty: train
    std::string trace_file{};                   ///< TrainerJob::trace_file
    std::optional<double> most_seconds{};       ///< the job is ended after so long, as a failure of the kind timeout
    bool blocks_launches = false;               ///< each kernel is waited for where it is launched (Executor::can_block_launches)
    bool settles = false;                       ///< TrainerJob::settles
    bool prunes_itself = false;                 ///< a report that should be the last is only answered so; the job itself decides to end
};

/// Receives what jobs tell. Called only from inside Executor::wait and Executor::submit.
class ExecutorEvents {
public:
    virtual ~ExecutorEvents() = default;
    virtual EventAnswer on(std::int64_t trial, AttemptEvent event) = 0;
};

/// The answer to a question where all parameters are known before an attempt runs.
[[nodiscard]] inline EventAnswer knows_no_answer(const Question& question) {
    return {.suggestion = {.error = "parameter '" + question.name + "': the parameters of this study are known before an attempt runs"}};
}

/// Runs attempts. If an event throws, the exception leaves `submit` or `wait`. Jobs whose end was not told yet go on, and their ends are
/// told later. Thread safety: none. Only the tuner's thread calls it.
class Executor {
public:
    virtual ~Executor() = default;
    /// How many more jobs may be submitted now.
    [[nodiscard]] virtual std::size_t free_slots() const = 0;
    /// Starts a job. May run it to its end.
    virtual void submit(const Job& job, ExecutorEvents& events) = 0;
    /// Delivers the events that came. If there are none, it waits for one for at most `timeout_seconds`.
    virtual void wait(ExecutorEvents& events, double timeout_seconds) = 0;
    /// Asks every running job to end as interrupted. `wait` then delivers the ends.
    virtual void interrupt() = 0;
    /// Memory that jobs may take on the plan's device, in bytes. Returns nullopt if it is not limited or not known.
    [[nodiscard]] virtual std::optional<std::int64_t> capacity_bytes() const = 0;
    /// True if jobs run beside each other and nothing but the tuner keeps them within the capacity. If the caller gives no Reservations,
    /// the tuner then lets only those run at once whose estimates together fit.
    [[nodiscard]] virtual bool shares_capacity() const { return false; }
    /// True if it can run a job with Job::blocks_launches.
    [[nodiscard]] virtual bool can_block_launches() const { return false; }
    [[nodiscard]] virtual RunsOn runs_on() const { return {}; }
    /// What other processes leave of the plan's device now, for MemoryEvidence::device. Returns nullopt if it is not known.
    [[nodiscard]] virtual std::optional<MemoryReading> device_now() { return {}; }
    /// Bytes that are free on the plan's device now, where the memory of this study's attempts counts as taken. Returns nullopt if it is
    /// not known.
    [[nodiscard]] virtual std::optional<std::int64_t> free_now() { return {}; }
    /// What is known of an attempt's memory before it starts. It comes from the strongest source that answers, and never from a stronger
    /// one than `wanted`.
    [[nodiscard]] virtual MemoryEvidence evidence(const ParamSet& /*params*/, const ExecutionPlan& /*plan*/, Evidence /*wanted*/) {
        return {};
    }
};

}  // namespace hpo
