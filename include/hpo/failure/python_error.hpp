// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/failure.hpp"

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

/// The exception at the beginning of a line, "Type: message" or "Type" alone.
[[nodiscard]] std::optional<PythonError> exception_line(std::string_view line);

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

#ifndef HPO_COMPILED
#include "hpo/failure/impl/python_error_inl.hpp"
#endif
