// SPDX-License-Identifier: MIT
#pragma once

#include <torch/torch.h>

#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "hpo/torch/cuda_refusals.hpp"
#include "hpo/torch/failure_translation.hpp"
#include "hpo/torch/memory_reading.hpp"
#include "hpo/torch/metered_allocator.hpp"
#include "hpo/torch/recording/trace_recorder.hpp"
#include "hpo/torch/threads.hpp"
#include "hpo/trainer/record_line.hpp"
#include "hpo/trainer/sampling_times.hpp"
#include "hpo/trainer/trainer.hpp"

namespace hpo::libtorch {

/// The settings of an attempt that are not part of its job.
struct AttemptSettings {
    torch::Device device{torch::kCPU};
    int threads = 1;                          ///< most threads that LibTorch computes with
    std::string configuration;                ///< the trial's parameters in words, for messages
    std::optional<std::int64_t> cap_bytes{};  ///< of the device's memory; already in force
    bool settles = false;                     ///< TrainerJob::settles
};

/// A running attempt: its phase, its device, and the listener to which it reports. Thread safety: the attempt's thread.
class RunningAttempt {
public:
    RunningAttempt(const AttemptSettings& settings, Progress& progress) : settings_{settings}, progress_{progress} {}

    [[nodiscard]] torch::Device device() const { return settings_.device; }
    [[nodiscard]] Progress& progress() { return progress_; }
    [[nodiscard]] bool stop_requested() const { return progress_.stop_requested(); }

    /// Begins a phase. A failure from now on belongs to it. The phases are data, build, batch, forward, backward, update, step, evaluation,
    /// checkpoint and save. Before the first call the phase is start. If the job's settings are refused, the attempt fails in the phase
    /// settings. `phase` must be a literal.
    void enter(std::string_view phase) {
        phase_ = phase;
        TraceRecorder::instance().enter(phase);
        if (tells_phases_) progress_.phase(phase);
    }
    /// From now on each phase is also told to the listener.
    void tell_phases() { tells_phases_ = true; }
    [[nodiscard]] std::string_view phase() const { return phase_; }

    void mark(std::string_view name, std::optional<std::int64_t> step = std::nullopt) { mark(name, read_memory(settings_.device), step); }
    void mark(std::string_view name, MemoryReading reading, std::optional<std::int64_t> step = std::nullopt) {
        progress_.memory(MemoryMark{std::string{name}, seconds(), step, std::move(reading)});
    }
    /// Marks `step` if a sample is due (trainer/sampling_times.hpp). Otherwise it only looks at the clock.
    void sample(std::int64_t step) {
        if (sampling_.due(seconds())) mark("step", step);
    }
    [[nodiscard]] MemoryReading memory() const { return read_memory(settings_.device); }
    [[nodiscard]] bool settles() const { return settings_.settles; }
    /// Lowers the attempt's cap to `bytes` and a sixteenth, and marks that. Does nothing if the cap is already as low.
    void settle(std::int64_t bytes) {
        const std::int64_t cap = bytes + bytes / 16;
        if (settings_.cap_bytes && *settings_.cap_bytes <= cap) return;
        limit_memory(settings_.device, cap);
        MemoryReading reading = memory();
        reading.limit = cap;
        mark(settled_mark, std::move(reading));
    }
    [[nodiscard]] double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

private:
    const AttemptSettings& settings_;
    Progress& progress_;
    std::string_view phase_ = "start";
    bool tells_phases_ = false;
    SamplingTimes sampling_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// A Progress that ignores all that it is told.
struct Silence final : Progress {
    bool report(std::int64_t, double) override { return true; }
    [[nodiscard]] bool stop_requested() const override { return false; }
    void memory(const MemoryMark&) override {}
    void log(std::string_view) override {}
};

/// Runs `body(attempt)` in a thread of its own and waits for it. `body` returns an AttemptOutcome. An exception becomes the outcome's
/// failure. Marks trial_start, oom and end.
///
/// Design note: an out-of-memory inside `backward()` leaves work in autograd's queue of the calling thread, together with the tensors of
/// that work. They are freed when the thread ends, so each attempt has its own thread.
template <class Body>
[[nodiscard]] AttemptOutcome run_attempt(const AttemptSettings& settings, Progress& progress, const Body& body) {
    RunningAttempt attempt{settings, progress};
    AttemptOutcome outcome;
    std::thread{[&] {
        std::exception_ptr error;
        try {
            pin_threads(settings.threads);
            static_cast<void>(MeteredAllocator::instance().take_refusal());
            reset_peak_memory(settings.device);
#ifdef HPO_TORCH_CUDA
            if (settings.device.is_cuda()) watch_cuda_refusals();
            static_cast<void>(take_cuda_refusal());
#endif
            attempt.mark("trial_start");
            outcome = body(attempt);
        } catch (...) {
            error = std::current_exception();
        }
        if (!error) return;
        outcome.kind = OutcomeKind::failed;
        outcome.failure = translate_failure(error, attempt.phase(), settings.configuration);
        if (outcome.failure->kind == FailureKind::out_of_memory) {
            if (!outcome.failure->memory.allocated) outcome.failure->memory = read_memory(settings.device);
            attempt.mark("oom", outcome.failure->memory);
        }
    }}.join();
    release_cached_memory(settings.device);
    const MemoryReading reading = read_memory(settings.device);
    outcome.peak_allocated = reading.peak_allocated;
    outcome.peak_reserved = reading.peak_reserved;
    attempt.mark("end", reading);
    outcome.seconds = attempt.seconds();
    return outcome;
}

}  // namespace hpo::libtorch
