// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/core/failure.hpp"
#include "hpo/failure/classify.hpp"

namespace hpo {

/// An exception as Python prints it: "torch.cuda.OutOfMemoryError: CUDA out of memory. ..." or "RuntimeError('CUDA error: ...')".
struct PythonError {
    std::string type;
    std::string message;
    std::string place{};  ///< "train.py:12", the frame that raised it; empty: not known
};

namespace detail {

/// The text of the quoted Python literal at the beginning of `text`. Returns nullopt if there is none. A literal that was cut gives what is
/// left of it.
[[nodiscard]] std::optional<std::string> python_text(std::string_view text);

/// The exception at the beginning of a line, "Type: message" or "Type" alone, if its name is one that exceptions have.
[[nodiscard]] std::optional<PythonError> exception_line(std::string_view line);

/// As exception_line, whatever its name is.
[[nodiscard]] std::optional<PythonError> exception_of_any_name(std::string_view line);

}  // namespace detail

/// "train.py:12" of the line `  File "train.py", line 12, in load`. Empty for other lines.
[[nodiscard]] std::string place_in_source(std::string_view line);

inline constexpr std::string_view traceback_heading = "Traceback (most recent call last):";

/// The exception that repr() shows: "RuntimeError('CUDA out of memory. ...')".
[[nodiscard]] std::optional<PythonError> exception_from_repr(std::string_view text);

/// The exceptions of a traceback in the order in which they were raised. A chain has several ("During handling of the above exception
/// ..."). A message of several lines is kept whole. One that Python ignored ("Exception ignored in: ...") is left out.
[[nodiscard]] std::vector<PythonError> exceptions_in(std::string_view traceback);

/// Classifies an exception. If its message is at most one word, the type is added: KeyError('lr') becomes "KeyError: lr". An exception
/// without a message gets its place: "MemoryError at train.py:12".
[[nodiscard]] Failure classify_exception(const PythonError& error);

/// Classifies a chain of exceptions by the first one that is about memory or the device, else by the last. Code that handles an
/// out-of-memory error often raises another exception. If it is about memory and has no figures ("Caught OutOfMemoryError in replica 0"), a
/// later one of its kind that has some counts instead. ChildFailedError of torchrun counts only alone. Returns nullopt for an empty chain.
[[nodiscard]] std::optional<Failure> classify_exceptions(const std::vector<PythonError>& chain);

/// Classifies a failure by Optuna's text: "RuntimeError('...')" or "The value nan is not acceptable". "Trial 7 failed because of the
/// following error: " may stand before it. Also takes a traceback or an exception's line.
[[nodiscard]] Failure classify_python(std::string_view text);

}  // namespace hpo

namespace hpo::detail {

/// The dotted name at the beginning of a text. Empty if there is none.
[[nodiscard]] inline std::string_view leading_dotted_name(std::string_view text) {
    std::size_t end = 0;
    bool begins = true;
    for (; end < text.size(); ++end) {
        const auto c = static_cast<unsigned char>(text[end]);
        if (std::isalpha(c) != 0 || c == '_') begins = false;
        else if (c == '.' && !begins) begins = true;
        else if (std::isdigit(c) == 0 || begins) break;
    }
    return begins ? std::string_view{} : text.substr(0, end);
}

/// True for names of exceptions: "ValueError", "torch.cuda.OutOfMemoryError", "KeyboardInterrupt", "TrialPruned".
[[nodiscard]] inline bool is_exception_name(std::string_view name) {
    const auto dot = name.rfind('.');
    const std::string_view last = dot == std::string_view::npos ? name : name.substr(dot + 1);
    if (last.empty() || std::isupper(static_cast<unsigned char>(last.front())) == 0) return false;
    for (const std::string_view measure : {"SquaredError", "AbsoluteError", "PercentageError", "LogarithmicError", "LogError"}) {
        if (last.ends_with(measure)) return false;  // a loss or a metric
    }
    for (const std::string_view ending : {"Error", "Exception", "Interrupt", "Exit", "Pruned", "Warning", "StopIteration"}) {
        if (last.ends_with(ending)) return true;
    }
    return false;
}

inline std::optional<std::string> python_text(std::string_view text) {
    if (text.empty() || (text.front() != '\'' && text.front() != '"')) return std::nullopt;
    const char quote = text.front();
    std::string plain;
    for (std::size_t i = 1; i < text.size() && text[i] != quote; ++i) {
        if (text[i] != '\\' || i + 1 == text.size()) {
            plain += text[i];
            continue;
        }
        ++i;
        if (text[i] == 'n' || text[i] == 't' || text[i] == 'r') {
            plain += text[i] == 'n' ? '\n' : text[i] == 't' ? '\t' : '\r';
            continue;
        }
        if (text[i] != '\\' && text[i] != '\'' && text[i] != '"') plain += '\\';  // \x1b stays as it is written
        plain += text[i];
    }
    return plain;
}

inline std::optional<PythonError> exception_line(std::string_view line) {
    return is_exception_name(leading_dotted_name(line)) ? exception_of_any_name(line) : std::nullopt;
}

inline std::optional<PythonError> exception_of_any_name(std::string_view line) {
    const std::string_view name = leading_dotted_name(line);
    if (name.empty()) return std::nullopt;
    const std::string_view rest = line.substr(name.size());
    if (rest.empty()) return PythonError{.type = std::string{name}, .message = {}};
    if (!rest.starts_with(':')) return std::nullopt;
    return PythonError{.type = std::string{name},
                       .message = std::string{rest.substr(std::min<std::size_t>(rest.starts_with(": ") ? 2 : 1, rest.size()))}};
}

}  // namespace hpo::detail

namespace hpo {

inline std::string place_in_source(std::string_view line) {
    constexpr std::string_view before = "File \"";
    constexpr std::string_view between = "\", line ";
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    const auto middle = line.rfind(between);
    if (!line.starts_with(before) || middle == std::string_view::npos) return {};
    const std::string_view number = line.substr(middle + between.size());
    const auto digits = std::min(number.find_first_not_of("0123456789"), number.size());
    return std::string{line.substr(before.size(), middle - before.size())} + ":" + std::string{number.substr(0, digits)};
}

inline std::optional<PythonError> exception_from_repr(std::string_view text) {
    const std::string_view name = detail::leading_dotted_name(text);
    if (!detail::is_exception_name(name) || !text.substr(name.size()).starts_with('(')) return std::nullopt;
    const std::string_view arguments = text.substr(name.size() + 1);
    auto message = detail::python_text(arguments);
    if (!message) {
        const auto close = arguments.rfind(')');
        message = std::string{arguments.substr(0, close == std::string_view::npos ? arguments.size() : close)};
    }
    return PythonError{.type = std::string{name}, .message = std::move(*message)};
}

inline std::vector<PythonError> exceptions_in(std::string_view traceback) {
    std::vector<PythonError> chain;
    std::string place;      // of the latest frame
    bool inside = false;    // of the frames
    bool speaking = false;  // the lines belong to the last message
    bool ignored = false;   // Python says of the next traceback that it went on
    while (!traceback.empty()) {
        const auto end = std::min(traceback.find('\n'), traceback.size());
        std::string_view line = traceback.substr(0, end);
        traceback.remove_prefix(std::min(end + 1, traceback.size()));
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.starts_with("During handling of the above exception") || line.starts_with("The above exception was the direct cause") ||
            line.find(traceback_heading) != std::string_view::npos) {
            inside = line.find(traceback_heading) != std::string_view::npos;
            speaking = false;
            place.clear();
            continue;
        }
        if (line.starts_with("Exception ignored ")) {
            ignored = true;
            speaking = false;
            continue;
        }
        if (inside && !line.empty() && line.front() != ' ' && line.front() != '\t') {
            inside = false;
            // Behind a frame stands the exception, whatever its class is called. A level of a log is another process' line in between.
            const std::string_view name = detail::leading_dotted_name(line);
            const bool is_level = std::ranges::none_of(name, [](unsigned char c) { return std::islower(c) != 0; });
            auto error = place.empty() || is_level ? detail::exception_line(line) : detail::exception_of_any_name(line);
            if (!std::exchange(ignored, false) && error) {
                chain.push_back(std::move(*error));
                chain.back().place = place;
                speaking = true;
            }
            continue;
        }
        if (std::string frame = inside ? place_in_source(line) : std::string{}; !frame.empty()) place = std::move(frame);
        if (speaking) chain.back().message += '\n' + std::string{line};
    }
    for (PythonError& error : chain) {
        while (!error.message.empty() && std::isspace(static_cast<unsigned char>(error.message.back())) != 0) error.message.pop_back();
    }
    return chain;
}

inline Failure classify_exception(const PythonError& error) {
    Failure failure = classify_text({.type = error.type, .message = error.message});
    if (failure.message.empty() && !error.type.empty()) {
        failure.message = error.type + (error.place.empty() ? "" : " at " + error.place);
        return failure;
    }
    const bool one_word = failure.message.find_first_of(" \t\n") == std::string::npos;
    if (may_hide_cause(failure.kind) && one_word && !error.type.empty()) failure.message = error.type + ": " + failure.message;
    return failure;
}

inline std::optional<Failure> classify_exceptions(const std::vector<PythonError>& chain) {
    if (chain.empty()) return std::nullopt;
    std::optional<Failure> first;
    for (const PythonError& error : chain) {
        Failure failure = classify_exception(error);
        if (may_hide_cause(failure.kind)) continue;
        if (!first) first = std::move(failure);
        else if (failure.kind == first->kind && failure.requested_bytes) first = std::move(failure);
        if (!is_memory(first->kind) || first->requested_bytes) return first;
    }
    if (first) return first;
    // torchrun's own exception says that a process failed. The one before says why.
    const auto tells =
        std::find_if(chain.rbegin(), chain.rend(), [](const PythonError& error) { return !error.type.ends_with("ChildFailedError"); });
    return classify_exception(tells == chain.rend() ? chain.back() : *tells);
}

inline Failure classify_python(std::string_view text) {
    constexpr std::string_view because = "because of the following error: ";
    const auto reason = text.find(because);
    if (reason < text.find(traceback_heading)) text.remove_prefix(reason + because.size());
    if (const auto at = text.find(traceback_heading); at != std::string_view::npos) {
        if (auto failure = classify_exceptions(exceptions_in(text.substr(at)))) {
            failure->traceback = text;
            return *failure;
        }
    }
    if (const auto error = exception_from_repr(text)) return classify_exception(*error);
    if (const auto error = detail::exception_line(text.substr(0, text.find('\n')))) {
        const auto end = text.find('\n');
        const std::string more{end == std::string_view::npos ? std::string_view{} : text.substr(end)};
        return classify_exception({.type = error->type, .message = error->message + more});
    }
    return classify_text({.type = {}, .message = text});
}

}  // namespace hpo
