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

namespace hpo {

/// One attempt, as it is handed to whatever runs it.
struct Job {
    std::string study;
    std::int64_t trial = 0;  ///< number within the study
    int attempt = 0;
    ParamSet params;
    ExecutionPlan plan;
    std::uint64_t seed = 0;  ///< for the trainer's own randomness: the same in every attempt of the trial
    bool fresh_worker = false;
    std::string checkpoint_folder{};            ///< TrainerJob::checkpoint_folder
    std::optional<std::int64_t> resume_step{};  ///< TrainerJob::resume_step
    std::string model_folder{};                 ///< TrainerJob::model_folder
    std::string saved_model{};                  ///< evaluate the model of this folder, and train nothing; empty: train
    std::string trace_file{};                   ///< TrainerJob::trace_file
    bool settles = false;                       ///< TrainerJob::settles
};

/// What an executor tells while jobs run. Called only from inside Executor::wait and Executor::submit.
class ExecutorEvents {
public:
    virtual ~ExecutorEvents() = default;
    virtual void on_started(std::int64_t trial, std::int64_t worker_pid) = 0;
    /// Returns true when the trial should stop.
    virtual bool on_report(std::int64_t trial, const Report& report) = 0;
    virtual void on_memory(std::int64_t trial, const MemoryMark& mark) = 0;
    /// A checkpoint of this step lies in the job's folder.
    virtual void on_checkpoint(std::int64_t /*trial*/, std::int64_t /*step*/) {}
    /// Exactly once for every submitted job, whatever happened to it.
    virtual void on_end(std::int64_t trial, AttemptOutcome outcome) = 0;
};

/// Runs attempts. Thread safety: none; one thread, the tuner's. What the events throw passes through `submit` and `wait`; a job
/// whose end has not been told yet then still runs, and its end is told later.
class Executor {
public:
    virtual ~Executor() = default;
    /// Jobs that may still be submitted now.
    [[nodiscard]] virtual std::size_t free_slots() const = 0;
    /// Starts a job; may run it to its end.
    virtual void submit(const Job& job, ExecutorEvents& events) = 0;
    /// Delivers what has happened; waits up to `timeout_seconds` for something to happen.
    virtual void wait(ExecutorEvents& events, double timeout_seconds) = 0;
    /// Asks every running job to end as interrupted; `wait` then delivers their ends.
    virtual void interrupt() = 0;
    /// Memory that jobs may take on the plan's device, in bytes; nothing: not limited or not known.
    [[nodiscard]] virtual std::optional<std::int64_t> capacity_bytes() const = 0;
    [[nodiscard]] virtual RunsOn runs_on() const { return {}; }
    /// The plan's device as others leave it now: MemoryEvidence::device; nothing: not known.
    [[nodiscard]] virtual std::optional<MemoryReading> device_now() { return {}; }
    /// What is known of an attempt's memory before it starts, from the strongest source that answers and is no stronger than `wanted`.
    [[nodiscard]] virtual MemoryEvidence evidence(const ParamSet& /*params*/, const ExecutionPlan& /*plan*/, Evidence /*wanted*/) {
        return {};
    }
};

}  // namespace hpo
