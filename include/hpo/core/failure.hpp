// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/core/memory_reading.hpp"

namespace hpo {

/// What happened to an attempt that did not finish.
enum class FailureKind {
    out_of_memory,       ///< the device's allocator refused
    host_out_of_memory,  ///< host memory, or the kernel's OOM killer
    cuda_sticky,         ///< the process's CUDA context is lost (device-side assert, illegal address, ...)
    cuda_transient,      ///< a CUDA error after which the process may go on
    hardware,            ///< the device itself (ECC, NVLink, fallen off the bus)
    non_finite,          ///< the objective or the loss is NaN or infinite
    bad_batch,           ///< labels or logits that do not fit the task
    timeout,             ///< silent or running for too long
    crash,               ///< the worker died of a signal
    trainer_error,       ///< the trainer threw, or said no
    lost_worker,         ///< the worker vanished without a word, or its supervisor did
    script_error,        ///< the study script failed
    predicted_oom,       ///< refused before launch
};

inline constexpr std::array<std::string_view, 13> failure_kind_names{
    "out_of_memory", "host_out_of_memory", "cuda_sticky", "cuda_transient", "hardware",     "non_finite", "bad_batch", "timeout",
    "crash",         "trainer_error",      "lost_worker", "script_error",   "predicted_oom"};

[[nodiscard]] constexpr std::string_view to_text(FailureKind kind) { return failure_kind_names[static_cast<std::size_t>(kind)]; }
[[nodiscard]] constexpr std::optional<FailureKind> failure_kind(std::string_view text) {
    for (std::size_t i = 0; i < failure_kind_names.size(); ++i) {
        if (failure_kind_names[i] == text) return static_cast<FailureKind>(i);
    }
    return std::nullopt;
}

/// Why memory ran out.
enum class OomCause {
    capacity,       ///< it can never fit
    fragmentation,  ///< it would fit in memory that is reserved but not allocated
    leak,           ///< memory held from earlier trials
    neighbour,      ///< another process
    limit,          ///< a cap that the process set itself
    host,           ///< host memory, or the kernel's OOM killer
    workspace,      ///< a kernel's temporary
    unknown,
};

inline constexpr std::array<std::string_view, 8> oom_cause_names{"capacity", "fragmentation", "leak",      "neighbour",
                                                                 "limit",    "host",          "workspace", "unknown"};
[[nodiscard]] constexpr std::string_view to_text(OomCause cause) { return oom_cause_names[static_cast<std::size_t>(cause)]; }
[[nodiscard]] constexpr std::optional<OomCause> oom_cause(std::string_view text) {
    for (std::size_t i = 0; i < oom_cause_names.size(); ++i) {
        if (oom_cause_names[i] == text) return static_cast<OomCause>(i);
    }
    return std::nullopt;
}

/// A failure as a value: what a trial did, in the words of the field. Nothing that a trial does is an exception above
/// the worker.
struct Failure {
    FailureKind kind = FailureKind::trainer_error;
    std::string message;                          ///< first line first, as the failing party worded it
    std::string type;                             ///< exception type, "c10::OutOfMemoryError"; empty when there was none
    std::optional<std::int64_t> code;             ///< CUDA error code
    std::optional<int> signal;                    ///< that ended the worker
    std::optional<int> exit_status;               ///< of the worker or of a command
    std::string where;                            ///< phase: build, forward, backward, step, evaluation, ...
    std::string traceback;                        ///< stack or last lines of the worker's stderr
    MemoryReading memory;                         ///< at the failure
    std::optional<std::int64_t> requested_bytes;  ///< the allocation that was refused
    std::optional<OomCause> cause;                ///< for the memory kinds
    std::string evidence;                         ///< one sentence with the figures behind `cause`
};

/// True for the kinds that a smaller memory need could have avoided.
[[nodiscard]] constexpr bool is_memory(FailureKind kind) {
    return kind == FailureKind::out_of_memory || kind == FailureKind::host_out_of_memory || kind == FailureKind::predicted_oom;
}

}  // namespace hpo
