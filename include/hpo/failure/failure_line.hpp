// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "hpo/core/failure.hpp"

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

#ifndef HPO_COMPILED
#include "hpo/failure/impl/failure_line_inl.hpp"
#endif
