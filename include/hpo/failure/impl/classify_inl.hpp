// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "hpo/base/inline.hpp"
#include "hpo/failure/classify.hpp"
#include "hpo/failure/cuda_codes.hpp"
#include "hpo/failure/framework_message.hpp"
#include "hpo/failure/oom_message.hpp"
#include "hpo/failure/stack_frames.hpp"

namespace hpo::detail {

HPO_INLINE std::string lower_case(std::string_view text) {
    std::string lower{text};
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return lower;
}

HPO_INLINE bool mentions_any(std::string_view text, std::initializer_list<std::string_view> phrases) {
    for (const std::string_view phrase : phrases) {
        if (text.find(phrase) != std::string_view::npos) return true;
    }
    return false;
}

HPO_INLINE std::optional<std::int64_t> number_after(std::string_view text, std::string_view phrase) {
    const auto at = text.find(phrase);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view digits = text.substr(at + phrase.size());
    std::int64_t number = 0;
    const auto [stop, status] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (status != std::errc{} || number < 0 || static_cast<double>(number) > largest_credible_bytes) return std::nullopt;
    return number;
}

/// True for "MemoryError" as a word of its own, not as the end of OutOfMemoryError.
[[nodiscard]] HPO_INLINE bool names_memory_error(std::string_view text) {
    constexpr std::string_view name = "memoryerror";
    for (auto at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
        const std::string_view before = text.substr(0, at);
        if (before.empty() || std::isalpha(static_cast<unsigned char>(before.back())) == 0) return true;
    }
    return false;
}

/// True for messages about host memory: PyTorch's CPU allocator, Python, numpy, the C++ library, the operating system, loader processes,
/// TensorFlow's tensors on the CPU. A std::bad_alloc that names a CUDA error is not about host memory: RAPIDS and XGBoost throw these.
[[nodiscard]] HPO_INLINE bool speaks_of_host_memory(std::string_view type, std::string_view message) {
    if (mentions_any(message, {"cudaerrormemoryallocation", "out_of_memory: cuda"})) return false;
    if (message.find("oom when allocating tensor") != std::string_view::npos && message.find("device:cpu:") != std::string_view::npos)
        return true;
    return names_memory_error(type) || type.find("arraymemoryerror") != std::string_view::npos ||
           type.find("bad_alloc") != std::string_view::npos || names_memory_error(message) ||
           mentions_any(message,
                        {"defaultcpuallocator", "std::bad_alloc", "arraymemoryerror", "cannot allocate memory",
                         "is killed by signal: killed", "is killed by signal: bus error", "oom-kill", "oom_kill event", "oom killed",
                         "oomkilled", "java heap space", "gc overhead limit exceeded", "node running low on memory"}) ||
           (message.find("unable to allocate ") != std::string_view::npos && message.find(" for an array") != std::string_view::npos);
}

HPO_INLINE bool speaks_of_workspace(std::string_view message) {
    return mentions_any(message, {"cublas_status_alloc_failed", "cudnn_status_alloc_failed", "cufft_alloc_failed",
                                  "cusolver_status_alloc_failed", "cusparse_status_alloc_failed", "cusparse_status_insufficient_resources",
                                  "not enough memory for workspace", "cudnn_status_not_supported", "miopenstatusallocfailed"}) ||
           (message.find("cublas_status_not_initialized") != std::string_view::npos &&
            message.find("cublascreate") != std::string_view::npos);
}

/// True if the message says only "out of memory", perhaps after an exception's type.
[[nodiscard]] HPO_INLINE bool says_only_out_of_memory(std::string_view message) {
    constexpr std::string_view words = "out of memory";
    const auto end = message.find_last_not_of(".! \n\r\t");
    message = message.substr(0, end == std::string_view::npos ? 0 : end + 1);
    if (!message.ends_with(words)) return false;
    message.remove_suffix(words.size());
    return message.empty() || message.ends_with(": ") || message.ends_with('\n');
}

/// True for a device allocator's refusal, from PyTorch or another framework.
[[nodiscard]] HPO_INLINE bool speaks_of_device_memory(std::string_view type, std::string_view message) {
    return type.find("outofmemoryerror") != std::string_view::npos || message.find("outofmemoryerror") != std::string_view::npos ||
           (message.find("out of memory") != std::string_view::npos &&
            mentions_any(message, {"to allocate", "cuda", "hip ", "xpu ", "mps backend", "gpu", "device", "resource_exhausted",
                                   "out of memory. requested "})) ||
           says_only_out_of_memory(message) ||
           (mentions_any(message, {"resource_exhausted", "resource exhausted"}) && message.find("alloc") != std::string_view::npos) ||
           message.find("out of memory allocating ") != std::string_view::npos ||
           (message.find("attempting to allocate ") != std::string_view::npos &&
            message.find("that was not possible") != std::string_view::npos) ||
           mentions_any(message, {"oom when allocating tensor", "cudaerrormemoryallocation", "out_of_memory: cuda", "hiperroroutofmemory",
                                  "memory object allocation failure", "mem_object_allocation_failure", "ran out of memory in memory space",
                                  "would exceed allowed memory"});
}

/// True if the message says that SIGKILL ended a process. It does not say who sent the signal: the kernel's out-of-memory killer or any
/// program.
[[nodiscard]] HPO_INLINE bool speaks_of_sigkill(std::string_view message) {
    if (mentions_any(message, {"signals.sigkill", "by signal 9", "received sigkill"})) return true;
    for (const std::string_view phrase :
         {"exit code ", "exit code: ", "exitcode: ", "exit status ", "exited with code ", "return code ", "returncode ", "returncode="}) {
        const auto at = message.find(phrase);
        if (at == std::string_view::npos) continue;
        const std::string_view rest = message.substr(at + phrase.size());
        for (const std::string_view status : {"137", "-9"}) {
            const bool ends =
                rest.size() == status.size() || (rest.size() > status.size() && (rest[status.size()] < '0' || rest[status.size()] > '9'));
            if (rest.starts_with(status) && ends) return true;
        }
    }
    return false;
}

}  // namespace hpo::detail

namespace hpo {

HPO_INLINE Failure classify_text(const FailureText& text) {
    Failure failure;
    failure.message = without_frames(text.message);
    if (failure.message != text.message) failure.traceback = text.message;
    failure.type = text.type;
    const std::string type = detail::lower_case(text.type);
    const std::string message = detail::lower_case(failure.message);
    const CudaError* error = cuda_error_in(failure.message);
    if (error) failure.code = error->code;

    if (detail::speaks_of_host_memory(type, message)) {
        failure.kind = FailureKind::host_out_of_memory;
        failure.requested_bytes = detail::number_after(message, "you tried to allocate ");
        if (const auto figures = parse_framework_message(text.message); figures && !failure.requested_bytes)
            failure.requested_bytes = figures->requested_bytes;
    } else if (error && error->meaning != CudaErrorClass::memory) {
        failure.kind = failure_kind_of(error->meaning);
    } else if (detail::speaks_of_device_memory(type, message) || detail::speaks_of_workspace(message)) {
        failure.kind = FailureKind::out_of_memory;
        if (const auto figures = read_oom_figures(failure.message)) {
            failure.memory = figures->memory;
            failure.requested_bytes = figures->requested_bytes;
        }
    } else if (error) {
        failure.kind = FailureKind::out_of_memory;
    } else if (detail::mentions_any(message, {"watchdog caught collective operation timeout", "timed out waiting for", "nccl timeout"})) {
        failure.kind = FailureKind::timeout;
    } else if (detail::mentions_any(message, {"nccl error", "ncclunhandledcudaerror", "ncclsystemerror", "ncclinternalerror",
                                              "nccl communicator was aborted", "cudnn_status_execution_failed",
                                              "cudnn_status_internal_error", "cudnn_status_mapping_error", "cublas_status_execution_failed",
                                              "cublas_status_internal_error", "cublas_status_mapping_error"})) {
        failure.kind = FailureKind::cuda_sticky;  // a communicator or handle that failed once always fails again: a fresh process is needed
    } else if (detail::mentions_any(message, {"invalid labels detected", "model output shape mismatch", "is out of bounds.",
                                              "to match target batch_size"})) {
        failure.kind = FailureKind::bad_batch;
    } else if (detail::speaks_of_sigkill(message)) {
        failure.kind = FailureKind::crash;
        failure.signal = 9;
    } else {
        failure.kind = FailureKind::trainer_error;
    }
    return failure;
}

HPO_INLINE Failure classify_exit(const ProcessEnd& end) {
    static constexpr std::array<std::string_view, 16> signal_names{"",        "SIGHUP",  "SIGINT",  "SIGQUIT", "SIGILL",  "SIGTRAP",
                                                                   "SIGABRT", "SIGBUS",  "SIGFPE",  "SIGKILL", "SIGUSR1", "SIGSEGV",
                                                                   "SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM"};
    constexpr int killed = 9;
    Failure failure = classify_text({.type = {}, .message = end.last_words});
    failure.traceback = end.last_words;
    failure.signal = end.signal;
    failure.exit_status = end.exit_status;
    if (!failure.signal && end.exit_status && *end.exit_status > 128 && *end.exit_status < 128 + 65)
        failure.signal = *end.exit_status - 128;
    const bool words_explain = failure.kind != FailureKind::trainer_error;
    if (words_explain && failure.signal != killed) return failure;
    if (failure.signal) {
        const auto index = static_cast<std::size_t>(*failure.signal);
        const std::string name =
            index < signal_names.size() && index > 0 ? std::string{signal_names[index]} : "signal " + std::to_string(*failure.signal);
        failure.kind = failure.signal == killed && end.host_memory_was_short ? FailureKind::host_out_of_memory : FailureKind::crash;
        failure.message = "the process was ended by " + name;
        if (failure.kind == FailureKind::host_out_of_memory) failure.message += ", and host memory was exhausted";
        else if (failure.signal == killed) failure.message += "; hpo did not send it: perhaps the kernel's out-of-memory killer";
    } else {
        failure.kind = end.exit_status ? FailureKind::trainer_error : FailureKind::lost_worker;
        failure.message =
            end.exit_status ? "the process ended with status " + std::to_string(*end.exit_status) : "the process vanished without a word";
    }
    return failure;
}

}  // namespace hpo
