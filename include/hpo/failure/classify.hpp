// SPDX-License-Identifier: MIT
#pragma once

#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "hpo/base/signal_name.hpp"
#include "hpo/core/failure.hpp"
#include "hpo/failure/framework_message.hpp"
#include "hpo/failure/message_families.hpp"
#include "hpo/failure/oom_message.hpp"
#include "hpo/failure/stack_frames.hpp"

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

namespace hpo::detail {

inline std::string lower_case(std::string_view text) {
    std::string lower{text};
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return lower;
}

inline bool mentions_any(std::string_view text, std::initializer_list<std::string_view> phrases) {
    for (const std::string_view phrase : phrases) {
        if (text.find(phrase) != std::string_view::npos) return true;
    }
    return false;
}

inline std::optional<std::int64_t> number_after(std::string_view text, std::string_view phrase) {
    const auto at = text.find(phrase);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view digits = text.substr(at + phrase.size());
    std::int64_t number = 0;
    const auto [stop, status] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (status != std::errc{} || number < 0 || static_cast<double>(number) > largest_credible_bytes) return std::nullopt;
    return number;
}

inline bool speaks_of_workspace(std::string_view message) {
    const auto part = find_telling_part({}, message);
    return part && part->family >= workspace_messages.data() && part->family < workspace_messages.data() + workspace_messages.size();
}

}  // namespace hpo::detail

namespace hpo {

inline Failure classify_text(const FailureText& text) {
    Failure failure;
    failure.message = without_frames(text.message);
    if (failure.message != text.message) failure.traceback = text.message;
    failure.type = text.type;
    const auto part = find_telling_part(text.type, failure.message);
    if (!part) return failure;
    failure.kind = part->kind;
    if (part->error) failure.code = part->error->code;
    if (part->family) failure.signal = part->family->signal;
    if (failure.kind == FailureKind::host_out_of_memory) {
        failure.requested_bytes = detail::number_after(detail::lower_case(failure.message), "you tried to allocate ");
        if (const auto figures = parse_framework_message(text.message); figures && !failure.requested_bytes)
            failure.requested_bytes = figures->requested_bytes;
    } else if (failure.kind == FailureKind::out_of_memory) {
        if (const auto figures = read_oom_figures(failure.message)) {
            failure.memory = figures->memory;
            failure.requested_bytes = figures->requested_bytes;
        }
    }
    // A long output begins with what happened before. Its message begins with the line that tells.
    if (text.type.empty() && !part->line.empty()) {
        const auto before = static_cast<std::size_t>(part->line.data() - failure.message.data());
        if (failure.message.find('\n') < before) {
            if (failure.traceback.empty()) failure.traceback = text.message;
            failure.message.erase(0, before);
        }
    }
    return failure;
}

inline Failure classify_exit(const ProcessEnd& end) {
    constexpr int aborted = 6;
    constexpr int killed = 9;
    Failure failure = classify_text({.type = {}, .message = end.last_words});
    const bool tells_kill = was_killed(failure);  // of a process that it started
    failure.traceback = end.last_words;
    failure.signal = end.signal;
    failure.exit_status = end.exit_status;
    if (!failure.signal && end.exit_status && *end.exit_status > 128 && *end.exit_status < 128 + 65)
        failure.signal = *end.exit_status - 128;
    // An uncaught exception ends in SIGABRT. Behind any other signal, words about a missing module or file are no explanation.
    const bool words_explain =
        failure.kind != FailureKind::trainer_error && (!may_hide_cause(failure.kind) || !failure.signal || failure.signal == aborted);
    const bool words_of_host_memory = failure.kind == FailureKind::host_out_of_memory;
    if (tells_kill && !failure.signal && end.host_memory_was_short.value_or(false)) {
        failure.kind = FailureKind::host_out_of_memory;
        failure.message = "the kernel counted an out-of-memory kill: " + failure.message;
        return failure;
    }
    if (words_explain && (failure.signal != killed || words_of_host_memory)) return failure;
    if (failure.signal) {
        const bool short_of_memory = failure.signal == killed && end.host_memory_was_short.value_or(false);
        failure.kind = short_of_memory ? FailureKind::host_out_of_memory : FailureKind::crash;
        failure.message = std::string{ended_by_signal} + signal_name(*failure.signal);
        if (short_of_memory) failure.message += ", and the kernel counted an out-of-memory kill";
        else if (failure.signal == killed && end.host_memory_was_short)
            failure.message += "; hpo did not send it, and the kernel counted no out-of-memory kill";
        else if (failure.signal == killed) failure.message += "; hpo did not send it: perhaps the kernel's out-of-memory killer";
    } else {
        failure.kind = end.exit_status ? FailureKind::trainer_error : FailureKind::lost_worker;
        failure.message =
            end.exit_status ? std::string{ended_with_status} + std::to_string(*end.exit_status) : std::string{vanished_message};
    }
    return failure;
}

}  // namespace hpo
