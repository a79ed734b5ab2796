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
};

namespace detail {

/// The text of the quoted Python literal that `text` begins with; nothing when it begins with none. A literal that was cut gives what is
/// left.
[[nodiscard]] std::optional<std::string> python_text(std::string_view text);

/// The exception that a line begins with, "Type: message" or "Type" alone.
[[nodiscard]] std::optional<PythonError> exception_line(std::string_view line);

}  // namespace detail

inline constexpr std::string_view traceback_heading = "Traceback (most recent call last):";

/// The exception that repr() shows: "RuntimeError('CUDA out of memory. ...')".
[[nodiscard]] std::optional<PythonError> exception_from_repr(std::string_view text);

/// The exceptions of a traceback, the first that was raised first: a chain has several ("During handling of the above exception ...").
/// A message of several lines is kept whole.
[[nodiscard]] std::vector<PythonError> exceptions_in(std::string_view traceback);

/// A failure from an exception. A message of one word or none is told with the type: KeyError('lr') is "KeyError: lr".
[[nodiscard]] Failure classify_exception(const PythonError& error);

/// A failure from a chain of exceptions: the first of them that is about memory or the device, else the last. What handles an
/// out-of-memory often raises something else. Nothing for an empty chain.
[[nodiscard]] std::optional<Failure> classify_exceptions(const std::vector<PythonError>& chain);

/// A failure from the words of Optuna: "RuntimeError('...')", "The value nan is not acceptable", also with "Trial 7 failed because of the
/// following error: " before them, and from a traceback or an exception's line.
[[nodiscard]] Failure classify_python(std::string_view text);

}  // namespace hpo

#ifndef HPO_COMPILED
#include "hpo/failure/impl/python_error_inl.hpp"
#endif
