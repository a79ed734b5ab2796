// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>

#include "hpo/base/whole_characters.hpp"
#include "hpo/core/failure.hpp"
#include "hpo/failure/classify.hpp"
#include "hpo/failure/message_families.hpp"
#include "hpo/failure/python_error.hpp"
#include "hpo/failure/stack_frames.hpp"

namespace hpo {

/// The line of a failure's message that tells what went wrong: the one that decides its kind, else the exception that a traceback ends
/// with, else the first. If a process only left a status or a signal, its last words follow. So do later_words.
[[nodiscard]] std::string failure_line(const Failure& failure);

/// The last error that a program printed after the line that decides the kind. Such a line names an environment, data or a process that
/// died, and a program may go on after it. Empty if there is no later error. Lines that only repeat the failure, such as "make: *** [all]
/// Error 1", are none.
[[nodiscard]] std::string later_words(const Failure& failure);

/// True if the message says how the process ended, and nothing else is known.
[[nodiscard]] bool says_only_its_end(const Failure& failure);

/// What the output of a process ended with: the exception of its traceback, else its last line if nothing else is known.
[[nodiscard]] std::string last_words_of(const Failure& failure);

}  // namespace hpo

namespace hpo::detail {

/// The first line that is not blank, without the dispatcher's advice.
inline std::string first_filled_line(std::string_view text) {
    const auto begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
    text.remove_prefix(begin);
    text = without_dispatcher_advice(text.substr(0, text.find('\n')));
    while (text.ends_with('\r')) text.remove_suffix(1);
    return std::string{text};
}

/// "ValueError: a bad batch": what the text's last traceback ends with; empty if it has none.
inline std::string last_exception(std::string_view text) {
    const auto chain = exceptions_in(text);
    if (chain.empty()) return {};
    const std::string message = first_filled_line(chain.back().message);
    return chain.back().type + (message.empty() ? "" : ": " + message);
}

/// True for a line that says nothing of how a program ended: a progress bar, a ruler, or what a tracker of experiments prints at the end.
inline bool is_decoration(std::string_view line) {
    const bool has_word =
        std::ranges::any_of(line, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || (c & 0x80) != 0; });
    return !has_word || line.find("%|") != std::string_view::npos || line.starts_with("wandb: ");
}

/// The last line that tells something (see is_decoration), without stack frames. At most 200 bytes of it.
inline std::string last_filled_line(std::string_view text) {
    constexpr std::size_t most_bytes = 200;
    const std::string plain = without_frames(text);
    std::string_view left{plain};
    for (;;) {
        const auto end = left.find_last_not_of(" \t\r\n");
        if (end == std::string_view::npos) return {};
        left = left.substr(0, end + 1);
        const auto before = left.find_last_of("\r\n");
        std::string_view line = before == std::string_view::npos ? left : left.substr(before + 1);
        left = before == std::string_view::npos ? std::string_view{} : left.substr(0, before);
        line = line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
        if (is_decoration(line)) continue;
        return std::string{whole_characters(line, most_bytes)};
    }
}

/// True for a line in lower case that speaks of an error.
inline bool speaks_of_error(std::string_view line) {
    static constexpr Phrases errors[] = {
        {"error", "fatal", "fail", "exception", "~assert", "panic", "traceback", "~abort", "~usage: "},
        {"~cannot~", "can't", "could not", "couldn't", "unable to", "does not", "must be", "must not", "~not found", "no such"},
        {"denied", "refused", "~invalid", "unrecognized", "unknown", "unsupported", "unexpected", "~expected", "missing", "~bad "}};
    return std::ranges::any_of(errors, [line](const Phrases& phrases) {
        return std::ranges::any_of(phrases, [line](std::string_view phrase) { return contains_phrase(line, phrase); });
    });
}

/// True for a line in lower case that only repeats that something before has failed.
inline bool repeats_failure(std::string_view line) {
    static constexpr Phrases repeats{"exit code",
                                     "exit status",
                                     "exited with",
                                     "non-zero",
                                     "~error #$",
                                     "subcommand failed",
                                     "giving up",
                                     "execution halted",
                                     "unexplained error",
                                     "~code 255~",
                                     "~command failed~",
                                     "` failed",
                                     "could not read from remote repository",
                                     "connection closed$",
                                     "core dumped"};
    return std::ranges::any_of(repeats, [line](std::string_view phrase) { return contains_phrase(line, phrase); });
}

/// True for a process whose words may tell what it went on after: an environment, data, or a process that died.
inline bool may_have_later_words(const Failure& failure) {
    const bool may_be_before =
        failure.kind == FailureKind::environment || failure.kind == FailureKind::data || failure.kind == FailureKind::crash;
    return may_be_before && failure.exit_status && failure.type.empty();
}

/// As later_words, where the part that tells the kind is known.
inline std::string words_after(const TellingPart& part, const Failure& failure) {
    if (!may_have_later_words(failure) || part.kind != failure.kind || part.line.empty()) return {};
    constexpr std::size_t most_bytes = 200;
    std::string_view rest =
        std::string_view{failure.message}.substr(static_cast<std::size_t>(part.line.data() - failure.message.data()) + part.line.size());
    std::string_view last;
    while (!rest.empty()) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        if (line.empty() || line.front() == ' ' || line.front() == '\t' || is_decoration(line)) continue;
        const std::string plain = searchable(line);
        if (!speaks_of_error(plain) || repeats_failure(plain)) continue;
        const auto same = find_telling_part({}, line);
        if (!same || same->kind != failure.kind) last = line;
    }
    return std::string{whole_characters(last, most_bytes)};
}

}  // namespace hpo::detail

namespace hpo {

inline std::string later_words(const Failure& failure) {
    if (!detail::may_have_later_words(failure)) return {};
    const auto part = find_telling_part({}, failure.message);
    return part ? detail::words_after(*part, failure) : std::string{};
}

inline bool says_only_its_end(const Failure& failure) {
    const std::string first = detail::first_filled_line(failure.message);
    return first.starts_with(ended_with_status) || first.starts_with(ended_by_signal);
}

inline std::string last_words_of(const Failure& failure) {
    std::string exception = detail::last_exception(failure.traceback);
    return exception.empty() && says_only_its_end(failure) ? detail::last_filled_line(failure.traceback) : exception;
}

inline std::string failure_line(const Failure& failure) {
    const std::string first = detail::first_filled_line(failure.message);
    if (failure.message.find('\n') != std::string::npos) {
        const auto part = find_telling_part(failure.type, failure.message);
        if (part && part->kind == failure.kind && !part->line.empty()) {
            const std::string later = detail::words_after(*part, failure);
            return std::string{part->line} + (later.empty() ? "" : "; later: " + later);
        }
        if (std::string exception = detail::last_exception(failure.message); !exception.empty()) return exception;
    }
    if (!failure.exit_status && !says_only_its_end(failure)) return first;
    const std::string words = last_words_of(failure);
    const bool says_it = first.find(words) != std::string::npos || (!first.empty() && words.find(first) != std::string::npos);
    return words.empty() || says_it ? first : (first.empty() ? "" : first + ": ") + words;
}

}  // namespace hpo
