// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "hpo/analysis/json_texts.hpp"
#include "hpo/core/trial.hpp"
#include "hpo/failure/python_error.hpp"

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

/// Whether the name of an attribute or a member has one of these words: its parts between dots, underscores, dashes and capitals.
template <std::size_t Count>
[[nodiscard]] bool name_has_word(std::string_view name, const std::array<std::string_view, Count>& words) {
    std::string word;
    const auto is_one = [&] { return std::ranges::find(words, std::string_view{word}) != words.end(); };
    bool lower_before = false;
    for (const char c : name) {
        const auto letter = static_cast<unsigned char>(c);
        const bool upper = std::isupper(letter) != 0;
        if (std::isalpha(letter) == 0 || (upper && lower_before)) {
            if (is_one()) return true;
            word.clear();
        }
        if (std::isalpha(letter) != 0) word += static_cast<char>(std::tolower(letter));
        lower_before = std::islower(letter) != 0;
    }
    return is_one();
}

/// How much an attribute's name says about its text.
enum class NameSays { error, report, nothing, remark };

[[nodiscard]] inline NameSays name_says(std::string_view name) {
    static constexpr std::array<std::string_view, 9> remarks{"note", "notes",  "comment",     "comments", "remark",
                                                             "todo", "readme", "description", "tags"};
    static constexpr std::array<std::string_view, 15> errors{"err",        "error",     "errors", "exc",        "exception",
                                                             "exceptions", "traceback", "tb",     "failure",    "fail",
                                                             "failed",     "crash",     "cause",  "stacktrace", "reason"};
    static constexpr std::array<std::string_view, 12> reports{"msg",    "message", "messages", "stderr", "log",  "output",
                                                              "status", "warning", "oom",      "cuda",   "what", "stack"};
    if (name_has_word(name, remarks)) return NameSays::remark;
    if (name_has_word(name, errors)) return NameSays::error;
    return name_has_word(name, reports) ? NameSays::report : NameSays::nothing;
}

/// A cheap look before a text is taken apart: whether any word of a failure stands in it.
[[nodiscard]] inline bool may_tell_failure(std::string_view json) {
    for (const std::string_view word : {"rror", "emory", "EMORY", "xception", "Traceback", "OOM", "oom", "CUDA", "EXHAUSTED", "lloc"}) {
        if (json.find(word) != std::string_view::npos) return true;
    }
    return false;
}

/// True for text that a program printed as it failed: a traceback, an exception with its message, or an allocator's message with a figure.
/// A sentence that speaks of memory is none.
[[nodiscard]] inline bool is_program_text(std::string_view text) {
    if (text.find(traceback_heading) != std::string_view::npos || exception_from_repr(text)) return true;
    if (const auto line = hpo::detail::exception_line(text.substr(0, text.find('\n')))) return true;
    if (text.find("because of the following error: ") != std::string_view::npos) return true;
    const auto figures = parse_oom_message(text);
    return (figures && figures->requested_bytes) || parse_framework_message(text).has_value();
}

[[nodiscard]] inline bool one_of(std::string_view text, std::initializer_list<std::string_view> words) {
    return std::ranges::find(words, text) != words.end();
}

/// True for the kinds that the device itself told.
[[nodiscard]] constexpr bool is_device(FailureKind kind) {
    return kind == FailureKind::cuda_sticky || kind == FailureKind::cuda_transient || kind == FailureKind::hardware;
}

/// What one text says about the failure of a trial; nothing where it says nothing. `failed`: the trial is FAIL. One that is not has failed
/// only if the text is about memory or the device.
[[nodiscard]] inline std::optional<Failure> told_by(std::string_view name, std::string_view text, bool failed) {
    const NameSays says = name_says(name);
    if (says == NameSays::remark || text.size() < 3) return std::nullopt;
    const bool program = is_program_text(text);
    if (says == NameSays::nothing && !program) return std::nullopt;
    Failure failure = classify_python(text);
    const std::string lower = hpo::detail::lower_case(text);
    if (one_of(lower, {"oom", "out of memory", "out_of_memory", "cuda oom", "gpu oom", "cuda out of memory", "outofmemory"}))
        failure.kind = FailureKind::out_of_memory;
    if (!failed) return is_memory(failure.kind) || is_device(failure.kind) ? std::optional{failure} : std::nullopt;
    if (program || failure.kind != FailureKind::trainer_error) return failure;
    const auto letters = std::ranges::count_if(lower, [](char c) { return c >= 'a' && c <= 'z'; });
    if (says != NameSays::error || letters < 3 || one_of(lower, {"none", "null", "false", "true", "nan", "median"})) return std::nullopt;
    return failure;
}

}  // namespace detail

/// Looks through every attribute of a trial, user's and system's, for what says how it failed: texts, also inside lists and dictionaries.
/// What is about memory comes first, then other causes that are known, then any error. Attributes by the name of notes or comments are not
/// read.
[[nodiscard]] inline std::optional<ToldFailure> told_in_attributes(const Trial& trial) {
    std::optional<ToldFailure> best;
    const auto rank = [](const Failure& failure) {
        if (is_memory(failure.kind)) return failure.requested_bytes ? 3 : 2;
        return failure.kind == FailureKind::trainer_error ? 0 : 1;
    };
    for (const auto& [attributes, whose] : {std::pair{&trial.user_attributes, ""}, std::pair{&trial.system_attributes, "system "}}) {
        for (const auto& [name, json] : *attributes) {
            if (!json.starts_with('"') && !json.starts_with('{') && !json.starts_with('[')) continue;
            const bool named = trial.state == TrialState::fail && detail::name_says(name) == detail::NameSays::error;
            if (!named && !detail::may_tell_failure(json)) continue;
            each_json_text(json, [&](const std::string& path, const std::string& text) {
                auto failure = detail::told_by(path.empty() ? name : name + '.' + path, text, trial.state == TrialState::fail);
                if (!failure || (best && rank(best->failure) >= rank(*failure))) return;
                best = ToldFailure{.failure = std::move(*failure),
                                   .place = std::string{whose} + "attribute " + name + (path.empty() ? "" : ", in " + path)};
            });
        }
    }
    return best;
}

}  // namespace hpo::analysis
