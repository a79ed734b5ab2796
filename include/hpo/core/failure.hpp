// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/core/fields.hpp"
#include "hpo/core/memory_reading.hpp"

namespace hpo {

/// What happened to an attempt that did not finish.
enum class FailureKind {
    out_of_memory,       ///< the device's allocator refused an allocation
    host_out_of_memory,  ///< host memory, or the kernel's OOM killer
    cuda_sticky,         ///< the process's CUDA context is lost (device-side assert, illegal address, ...)
    cuda_transient,      ///< a CUDA error after which the process may continue
    hardware,            ///< an error of the device itself (ECC, NVLink, fallen off the bus)
    non_finite,          ///< the objective or the loss is NaN or infinite
    bad_batch,           ///< labels or logits that do not fit the task
    timeout,             ///< silent for too long, or running for too long
    crash,               ///< the worker was killed by a signal
    trainer_error,       ///< the trainer threw an exception or reported an error
    lost_worker,         ///< the worker disappeared without a message, or its supervisor did
    script_error,        ///< the study script failed
    predicted_oom,       ///< refused before launch, because its estimate does not fit
    environment,         ///< a driver, library, module or licence is missing or does not fit
    data,                ///< a data file is missing or damaged
};

inline constexpr std::array<std::string_view, 15> failure_kind_names{
    "out_of_memory", "host_out_of_memory", "cuda_sticky", "cuda_transient", "hardware",      "non_finite",  "bad_batch", "timeout",
    "crash",         "trainer_error",      "lost_worker", "script_error",   "predicted_oom", "environment", "data"};
template <>
struct EnumNames<FailureKind> {
    static constexpr auto& names = failure_kind_names;
};

[[nodiscard]] constexpr std::string_view to_text(FailureKind kind) { return failure_kind_names[static_cast<std::size_t>(kind)]; }

/// Why memory ran out.
enum class OomCause {
    capacity,       ///< it cannot fit, even on an empty device
    fragmentation,  ///< it would fit into memory that is reserved but not allocated
    leak,           ///< memory still held from earlier trials
    neighbour,      ///< another process holds the memory
    limit,          ///< a cap that the process set itself
    host,           ///< host memory, or the kernel's OOM killer
    workspace,      ///< temporary memory of a kernel
    unknown,
};

inline constexpr std::array<std::string_view, 8> oom_cause_names{"capacity", "fragmentation", "leak",      "neighbour",
                                                                 "limit",    "host",          "workspace", "unknown"};
template <>
struct EnumNames<OomCause> {
    static constexpr auto& names = oom_cause_names;
};
[[nodiscard]] constexpr std::string_view to_text(OomCause cause) { return oom_cause_names[static_cast<std::size_t>(cause)]; }

/// A failure as a value: what went wrong in a trial, in the field's terms. Above the worker, a trial never causes an exception.
struct Failure {
    FailureKind kind = FailureKind::trainer_error;
    std::string message;                          ///< as the failing program worded it, the first line first
    std::string type;                             ///< exception type, "c10::OutOfMemoryError"; empty if there was none
    std::optional<std::int64_t> code;             ///< CUDA error code
    std::optional<int> signal;                    ///< the signal that ended the worker
    std::optional<int> exit_status;               ///< of the worker or of a command
    std::string where;                            ///< the phase: build, forward, backward, step, evaluation, ...
    std::string traceback;                        ///< stack or last lines of the worker's stderr
    MemoryReading memory;                         ///< at the time of the failure
    std::optional<std::int64_t> requested_bytes;  ///< the allocation that was refused
    std::optional<OomCause> cause;                ///< for out-of-memory kinds
    std::string evidence;                         ///< one sentence with the figures behind `cause`

    static constexpr void fields(auto field) {
        field("kind", &Failure::kind);
        field("message", &Failure::message);
        field("type", &Failure::type, {.column = "exception_type"});
        field("code", &Failure::code, {.column = "cuda_error_code"});
        field("signal", &Failure::signal);
        field("exit_status", &Failure::exit_status);
        field("where", &Failure::where, {.column = "phase"});
        field("traceback", &Failure::traceback);
        field("memory", &Failure::memory);
        field("requested_bytes", &Failure::requested_bytes, {.unit = Unit::bytes});
        field("cause", &Failure::cause);
        field("evidence", &Failure::evidence);
    }
};

/// True for the kinds that a configuration with a smaller memory need could have avoided.
[[nodiscard]] constexpr bool is_memory(FailureKind kind) {
    return kind == FailureKind::out_of_memory || kind == FailureKind::host_out_of_memory || kind == FailureKind::predicted_oom;
}

/// True if SIGKILL ended the process. The kernel's out-of-memory killer sends that signal, and so can anybody else.
[[nodiscard]] inline bool was_killed(const Failure& failure) {
    constexpr int sigkill = 9;
    return failure.kind == FailureKind::crash && failure.signal == sigkill;
}

/// True for the kinds of exceptions that may hide another one: code that handles an out-of-memory error often raises such an exception.
[[nodiscard]] constexpr bool may_hide_cause(FailureKind kind) {
    return kind == FailureKind::trainer_error || kind == FailureKind::environment || kind == FailureKind::data;
}

}  // namespace hpo
