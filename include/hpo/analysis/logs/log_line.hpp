// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "hpo/core/trial.hpp"

namespace hpo::analysis {

/// Optuna's log line about the end of a trial: "[W 2026-01-31 12:00:00,123] Trial 7 failed with parameters: {...} because of the following
/// error: ...".
struct LogEvent {
    std::size_t line = 0;                      ///< counted from 1
    std::optional<std::int64_t> microseconds;  ///< since the epoch, by the log's own clock read as UTC
    std::int64_t trial = 0;
    TrialState state = TrialState::fail;  ///< the state in the line
    std::optional<std::string> params;    ///< as Python prints a dictionary
    std::string error;                    ///< of a failed trial; of a pruned one, the text of its exception
    std::string traceback;
};

}  // namespace hpo::analysis

namespace hpo::analysis::detail {

/// The line without terminal escape sequences.
[[nodiscard]] std::string without_escapes(std::string_view line);

/// What stands before a line of the program itself if another program wrote its output: "2026-01-31T12:00:00+0000 gpu7 python[991]: ". A
/// line of the same shape has other digits. Returns nullopt if `line` does not begin so.
[[nodiscard]] std::optional<std::string_view> without_stamp(std::string_view line, std::string_view stamp);

/// The line of an error that a program logged in its own words: "[2026-01-31 12:00:00] Error: shapes do not fit". Empty if it is none, or a
/// metric ("Validation Error: 0.3").
[[nodiscard]] std::string_view logged_error(std::string_view line);

/// Reads Optuna's text about the end of a trial, of any release since 1.0, anywhere in the line.
[[nodiscard]] std::optional<LogEvent> log_event(std::string_view line);

/// True if Optuna's text about the end of a trial does not end in the line, because something wrapped it.
[[nodiscard]] bool is_cut_event(std::string_view line);

/// The number of the trial in "Trial 5 failed with value None.", which Optuna prints last about it.
[[nodiscard]] std::optional<std::int64_t> failed_trial(std::string_view line);

/// One line of those into which it was wrapped: at any character, or else between words.
[[nodiscard]] std::string joined_lines(std::span<const std::string> lines, bool at_any_character);

/// The signal in a shell's message about a process: "Killed" or "x.sh: line 3: 712 Segmentation fault (core dumped) python x.py".
[[nodiscard]] std::optional<std::pair<int, std::string_view>> death_of_process(std::string_view line);

/// What a line says that names the signal or the exit code by which a process ended: torchrun's "exitcode  : -9 (pid: 1234)" and "Signal 9
/// (SIGKILL) received by PID 1234", "died with <Signals.SIGKILL: 9>". So do the words of the kernel, of a batch system or of a container's
/// engine about a process that they ended for its host memory. Nullopt if it is none, or SIGTERM, with which a program ends another.
[[nodiscard]] std::optional<Failure> killed_process(std::string_view line);

/// True if a line names the program that was ended, and that is none that trains: "Killed process 7 (chrome)".
[[nodiscard]] bool names_other_program(std::string_view line);

/// The number in "pid 12" or "(pid: 12)".
[[nodiscard]] std::optional<std::int64_t> process_named(std::string_view line);

/// The number of the trial that a line names: "Trial 5: ...", "[trial #5] ...", "trial=5 ...". Nullopt if it names none, or several.
[[nodiscard]] std::optional<std::int64_t> named_trial(std::string_view line);

}  // namespace hpo::analysis::detail
