// SPDX-License-Identifier: MIT
#include "hpo/analysis/failure_cases/told_failure.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/failure_cases/predicted_oom.hpp"
#include "analysis/memory_need/name_words.hpp"
#include "hpo/analysis/failure_cases/json_texts.hpp"
#include "hpo/failure/classify.hpp"
#include "hpo/failure/framework_message.hpp"
#include "hpo/failure/python_error.hpp"

namespace hpo::analysis::detail {

/// What an attribute's name says about its text.
enum class NameSays { error, report, nothing, remark };

[[nodiscard]] NameSays name_says(std::string_view name) {
    static constexpr auto remarks = std::to_array<std::string_view>({"note", "comment", "remark", "todo", "readme", "description", "tag"});
    static constexpr auto errors = std::to_array<std::string_view>({"err", "error", "exc", "exception", "traceback", "tb", "failure",
                                                                    "fail", "failed", "crash", "cause", "stacktrace", "reason", "why"});
    static constexpr auto reports =
        std::to_array<std::string_view>({"msg", "message", "stderr", "log", "output", "status", "warning", "oom", "cuda", "what", "stack"});
    if (names_one_of(name, remarks)) return NameSays::remark;
    if (names_one_of(name, errors)) return NameSays::error;
    return names_one_of(name, reports) ? NameSays::report : NameSays::nothing;
}

/// True for names that can only belong to a failure's message: error, last_exception, fail_reason, error.message. Another word in the name,
/// as in error_metric or test_error, makes it a setting or a figure.
[[nodiscard]] bool names_message(std::string_view name) {
    static constexpr auto failures = std::to_array<std::string_view>(
        {"err", "error", "exc", "exception", "traceback", "tb", "failure", "fail", "failed", "crash", "stacktrace"});
    static constexpr auto besides = std::to_array<std::string_view>(
        {"message", "msg", "text", "string", "str",   "info", "detail", "reason", "cause", "last",  "first", "type",
         "repr",    "oom", "cuda", "python", "trial", "run",  "worker", "value",  "stack", "frame", "args"});
    while (!name.empty()) {
        const auto dot = name.rfind('.');
        const std::vector<std::string> words = words_of(dot == std::string_view::npos ? name : name.substr(dot + 1));
        bool found = false;
        for (const std::string& word : words) {
            const bool failure = std::ranges::find(failures, word) != failures.end();
            if (!failure && std::ranges::find(besides, word) == besides.end()) return false;
            found = found || failure;
        }
        if (found) return true;
        if (dot == std::string_view::npos) return false;
        name = name.substr(0, dot);  // "error.message" counts as "error"
    }
    return false;
}

/// True for a single word such as "rmse" or "max_epochs". It names something and is not a message.
[[nodiscard]] bool is_one_word(std::string_view text) {
    return std::ranges::all_of(text,
                               [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.'; });
}

bool may_tell_failure(std::string_view json) {
    for (const std::string_view word : {"rror", "emory", "EMORY", "xception", "Traceback", "OOM", "oom", "CUDA", "EXHAUSTED", "lloc",
                                        "xceeded ", "xceeds ", "ime limit", "imeout", "imed out", "VmRSS"}) {
        if (json.find(word) != std::string_view::npos) return true;
    }
    return false;
}

bool is_program_text(std::string_view text) {
    if (text.find(traceback_heading) != std::string_view::npos) return true;
    if (const auto shown = exception_from_repr(text); shown && !shown->message.empty()) return true;
    if (const auto line = hpo::detail::exception_line(text.substr(0, text.find('\n'))); line && !line->message.empty()) return true;
    if (text.find("because of the following error: ") != std::string_view::npos) return true;
    if (text.find("llocation on ") != std::string_view::npos && text.find(" would exceed allowed memory") != std::string_view::npos)
        return true;
    if (text.starts_with("slurmstepd: error: ") || text.starts_with("srun: error: ")) return true;
    if (text.find("Killed process ") != std::string_view::npos && text.find("total-vm:") != std::string_view::npos) return true;
    const auto figures = read_oom_figures(text);
    return figures && (figures->requested_bytes || figures->memory.allocated || figures->memory.free);
}

/// True for the name of an exception without a message: "KeyError", "KeyboardInterrupt()".
[[nodiscard]] bool is_bare_exception(std::string_view text) {
    return exception_from_repr(text).has_value() || hpo::detail::exception_line(text.substr(0, text.find('\n'))).has_value();
}

std::optional<TextSays> told_by(std::string_view name, std::string_view text, bool failed) {
    const NameSays says = name_says(name);
    if (text.size() < 3) return std::nullopt;
    if (says == NameSays::remark) {
        // A short note of a failed trial about a time limit tells how the program ended it. Others are anybody's thoughts.
        constexpr std::size_t short_note = 80;
        if (!failed || text.size() > short_note) return std::nullopt;
        TextSays told{.failure = classify_python(text)};
        return told.failure.kind == FailureKind::timeout ? std::optional{told} : std::nullopt;
    }
    const bool program = is_program_text(text);
    if (says == NameSays::nothing && !program) return std::nullopt;
    TextSays told{.failure = classify_python(text), .certain = program};
    const std::string lower = hpo::detail::lower_case(text);
    if (predicts_oom(text)) {
        if (!failed && says != NameSays::error && !says_refused(text)) return std::nullopt;  // the program may have gone on
        told.failure = refused_by_program(std::string{text});
    } else if (one_of(lower, {"oom", "out of memory", "out_of_memory", "cuda oom", "gpu oom", "cuda out of memory", "outofmemory"})) {
        told.failure.kind = FailureKind::out_of_memory;
    }
    if (told.failure.kind == FailureKind::crash && is_one_word(text)) {  // "killed", "aborted": a state, and not a shell's words
        told.failure.kind = FailureKind::trainer_error;
        told.failure.signal.reset();
    }
    if (!failed) return is_memory(told.failure.kind) || is_device(told.failure.kind) ? std::optional{told} : std::nullopt;
    if (program || told.failure.kind != FailureKind::trainer_error) return told;
    if (!names_message(name) || (is_one_word(text) && !is_bare_exception(text))) return std::nullopt;
    return std::ranges::any_of(lower, [](char c) { return c >= 'a' && c <= 'z'; }) ? std::optional{told} : std::nullopt;
}

}  // namespace hpo::analysis::detail

namespace hpo::analysis {

bool tells_at_least(const Failure& a, const Failure& b) {
    const auto rank = [](const Failure& failure) {
        if (failure.kind == FailureKind::predicted_oom) return 1;
        if (is_memory(failure.kind)) return failure.requested_bytes ? 3 : 2;
        return failure.kind == FailureKind::trainer_error ? 0 : 1;
    };
    return rank(a) >= rank(b);
}

std::optional<ToldFailure> told_in_attributes(const Trial& trial, OrdinaryTexts& ordinary) {
    std::optional<ToldFailure> best;
    const bool ran = trial.state == TrialState::complete && has_finite_values(trial);
    const auto counts = [&](const detail::TextSays& told, const std::string& name, const std::string& path, const std::string& text) {
        if (told.failure.kind == FailureKind::predicted_oom && trial.state == TrialState::complete) return false;
        if (ran) return (told.certain || detail::names_message(name)) && !ordinary.is_usual(name, path, text);
        return told.certain || !ordinary.contains(name, path, text);
    };
    for (const auto& [attributes, whose] : {std::pair{&trial.user_attributes, ""}, std::pair{&trial.system_attributes, "system "}}) {
        for (const auto& [name, json] : *attributes) {
            if (!json.starts_with('"') && !json.starts_with('{') && !json.starts_with('[')) continue;
            const bool named = trial.state == TrialState::fail && detail::name_says(name) == detail::NameSays::error;
            if (!named && !detail::may_tell_failure(json)) continue;
            each_json_text(json, [&](const std::string& path, const std::string& text) {
                auto told = detail::told_by(path.empty() ? name : name + '.' + path, text, trial.state == TrialState::fail);
                if (!told || (best && tells_at_least(best->failure, told->failure))) return;
                if (!counts(*told, name, path, text)) return;
                best = ToldFailure{.failure = std::move(told->failure),
                                   .place = std::string{whose} + "attribute " + name + (path.empty() ? "" : ", in " + path)};
            });
        }
    }
    return best;
}

}  // namespace hpo::analysis
