// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/core/failure.hpp"

namespace hpo {

/// The messages of a failing program.
struct FailureText {
    std::string_view type;     ///< type of the exception, if it is known: "c10::OutOfMemoryError", "MemoryError"
    std::string_view message;  ///< what() or the last lines of stderr
};

namespace detail {

[[nodiscard]] std::string lower_case(std::string_view text);

[[nodiscard]] bool mentions_any(std::string_view text, std::initializer_list<std::string_view> phrases);

/// The whole number that follows `phrase`.
[[nodiscard]] std::optional<std::int64_t> number_after(std::string_view text, std::string_view phrase);

/// True if the message is from a library whose own temporary memory did not fit.
[[nodiscard]] bool speaks_of_workspace(std::string_view message);

}  // namespace detail

/// Classifies a failure by the program's messages: kind, CUDA code, and the figures in the message. explain_oom (failure/cause.hpp) finds
/// the cause of an out-of-memory failure. A message that is not recognised is a trainer_error. If the message contains stack frames, the
/// whole message goes to `traceback`.
[[nodiscard]] Failure classify_text(const FailureText& text);

/// How a worker or a command ended.
struct ProcessEnd {
    std::optional<int> exit_status;
    std::optional<int> signal;
    std::string_view last_words;  ///< last lines of its stderr
    /// True if the kernel's out-of-memory killer has killed something since the process began. Empty if the kernel keeps no count.
    std::optional<bool> host_memory_was_short{};
};

/// The message of a process that is gone and left neither a status nor a signal. All other messages of hpo about a worker that it lost say
/// why it ended the worker, or could not start it.
inline constexpr std::string_view vanished_message = "the process vanished without a word";

/// How the message of a process begins whose words do not explain its end.
inline constexpr std::string_view ended_with_status = "the process ended with status ";
inline constexpr std::string_view ended_by_signal = "the process was ended by ";

/// Classifies a failure by the end of the process. Statuses above 128 are signals, as shells report them. A SIGKILL that hpo did not send
/// is a host_out_of_memory only if the kernel counted an out-of-memory kill. Else it is a crash, and its message says what is known.
[[nodiscard]] Failure classify_exit(const ProcessEnd& end);

}  // namespace hpo

#ifndef HPO_COMPILED
#include "hpo/failure/impl/classify_inl.hpp"
#endif
