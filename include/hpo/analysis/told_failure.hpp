// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "hpo/analysis/ordinary_texts.hpp"
#include "hpo/core/trial.hpp"

namespace hpo::analysis {

/// What some text says about a trial's failure, and where it stands: "attribute err", "attribute info, in error.message",
/// "run.log, line 12".
struct ToldFailure {
    Failure failure;
    std::string place;
};

/// What the log of the program that ran a study says, by the number of the trial.
using ToldFailures = std::map<std::int64_t, ToldFailure>;

namespace detail {

/// A cheap look before a text is taken apart: whether any word of a failure stands in it.
[[nodiscard]] bool may_tell_failure(std::string_view json);

/// True for text that a program printed as it failed: a traceback, an exception with its message, or an allocator's message with a figure.
/// A sentence that speaks of memory is none, and an exception's name alone may be a setting.
[[nodiscard]] bool is_program_text(std::string_view text);

[[nodiscard]] inline bool one_of(std::string_view text, std::initializer_list<std::string_view> words) {
    return std::ranges::find(words, text) != words.end();
}

/// True for the kinds that the device itself told.
[[nodiscard]] constexpr bool is_device(FailureKind kind) {
    return kind == FailureKind::cuda_sticky || kind == FailureKind::cuda_transient || kind == FailureKind::hardware;
}

/// What one text says about the failure of a trial, and how sure that is.
struct TextSays {
    Failure failure;
    bool certain = false;  ///< a program printed it; else a trial that ran well must not have it, too
};

/// Reads the text of an attribute; nothing where it says nothing. `failed`: the trial is FAIL. One that is not has failed only if the text
/// is about memory or the device.
[[nodiscard]] std::optional<TextSays> told_by(std::string_view name, std::string_view text, bool failed);

}  // namespace detail

/// Whether `a` tells at least as much of a cause as `b`: an out-of-memory with figures most, then one without, then other known causes,
/// then any error.
[[nodiscard]] bool tells_at_least(const Failure& a, const Failure& b);

/// Looks through every attribute of a trial, user's and system's, for what says how it failed: texts, also inside lists and dictionaries.
/// What is about memory comes first, then other causes that are known, then any error. Attributes by the name of notes or comments are not
/// read, and what trials that ran well have, too, is no message.
[[nodiscard]] std::optional<ToldFailure> told_in_attributes(const Trial& trial, OrdinaryTexts& ordinary);
[[nodiscard]] inline std::optional<ToldFailure> told_in_attributes(const Trial& trial) {
    OrdinaryTexts none;
    return told_in_attributes(trial, none);
}

}  // namespace hpo::analysis

#ifndef HPO_COMPILED
#include "hpo/analysis/impl/told_failure_inl.hpp"
#endif
