// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/core/failure.hpp"

namespace hpo {

/// What a failing program said.
struct FailureText {
    std::string_view type;     ///< of the exception, as far as it is known: "c10::OutOfMemoryError", "MemoryError"
    std::string_view message;  ///< what() or the last lines of stderr
};

namespace detail {

[[nodiscard]] std::string lower_case(std::string_view text);

[[nodiscard]] bool mentions_any(std::string_view text, std::initializer_list<std::string_view> phrases);

/// The whole number that follows `phrase`.
[[nodiscard]] std::optional<std::int64_t> number_after(std::string_view text, std::string_view phrase);

/// Libraries whose own temporary did not fit beside what the trial holds.
[[nodiscard]] bool speaks_of_workspace(std::string_view message);

}  // namespace detail

/// A failure from what the program said: kind, CUDA code, the figures of the message. The cause of an out-of-memory is explain_oom's
/// (failure/cause.hpp). What nobody recognises is a trainer_error. Stack frames in the message go to `traceback`, with all of it.
[[nodiscard]] Failure classify_text(const FailureText& text);

/// How a worker or a command ended.
struct ProcessEnd {
    std::optional<int> exit_status;
    std::optional<int> signal;
    std::string_view last_words;         ///< of its stderr
    bool host_memory_was_short = false;  ///< the kernel reported an OOM kill, or the host had next to nothing left
};

/// A failure from how a process ended. Statuses above 128 are signals, as shells report them. A SIGKILL that nobody here sent is
/// a host_out_of_memory only when the host is known to have been short; else a crash that says so.
[[nodiscard]] Failure classify_exit(const ProcessEnd& end);

}  // namespace hpo

#ifndef HPO_COMPILED
#include "hpo/failure/impl/classify_inl.hpp"
#endif
