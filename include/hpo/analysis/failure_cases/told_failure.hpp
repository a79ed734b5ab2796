// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/analysis/failure_cases/ordinary_texts.hpp"
#include "hpo/core/trial.hpp"

namespace hpo::analysis {

/// What a text says about a trial's failure, and its place: "attribute err", "attribute info, in error.message", "run.log, line 12".
struct ToldFailure {
    Failure failure;
    std::string place;
};

/// What the program's own log says, by the number of the trial.
using ToldFailures = std::map<std::int64_t, ToldFailure>;

}  // namespace hpo::analysis

namespace hpo::analysis::detail {

/// A cheap test before a text is parsed: whether it contains any word of a failure.
[[nodiscard]] bool may_tell_failure(std::string_view json);

/// True for text that a failing program printed: a traceback, an exception with its message, or an allocator's message with a figure. Also
/// true for the words of Slurm and of the kernel's out-of-memory killer. False for a sentence about memory, and for an exception's name
/// alone, which may be a setting.
[[nodiscard]] bool is_program_text(std::string_view text);

[[nodiscard]] inline bool one_of(std::string_view text, std::initializer_list<std::string_view> words) {
    return std::ranges::find(words, text) != words.end();
}

/// True for the kinds that the device itself reports.
[[nodiscard]] constexpr bool is_device(FailureKind kind) {
    return kind == FailureKind::cuda_sticky || kind == FailureKind::cuda_transient || kind == FailureKind::hardware;
}

/// What one text says about the failure of a trial, and how sure that is.
struct TextSays {
    Failure failure;
    bool certain = false;  ///< a program printed it; if false, the text counts only if no trial that ran well has it
};

/// Reads the text of an attribute. Returns nullopt if it says nothing about a failure. `failed` means that the trial is FAIL. Any other
/// trial counts as failed only if the text is about memory or the device.
[[nodiscard]] std::optional<TextSays> told_by(std::string_view name, std::string_view text, bool failed);

}  // namespace hpo::analysis::detail

namespace hpo::analysis {

/// Whether `a` says at least as much about the cause as `b`. The order is: an out-of-memory with figures, one without, another known cause,
/// any error.
[[nodiscard]] bool tells_at_least(const Failure& a, const Failure& b);

/// Searches every attribute of a trial, the user's and the system's, for a message about its failure. It also looks inside lists and
/// dictionaries. A text about memory comes first, then other known causes, then any error. Attributes that are named as notes or comments
/// are skipped. So are texts that trials that ran well have, too.
[[nodiscard]] std::optional<ToldFailure> told_in_attributes(const Trial& trial, OrdinaryTexts& ordinary);
[[nodiscard]] inline std::optional<ToldFailure> told_in_attributes(const Trial& trial) {
    OrdinaryTexts none;
    return told_in_attributes(trial, none);
}

}  // namespace hpo::analysis
