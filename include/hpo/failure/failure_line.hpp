// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "hpo/core/failure.hpp"

namespace hpo {

/// The line of a failure's message that tells what went wrong: the one that decides its kind, else the exception that a traceback ends
/// with, else the first. If a process only left a status, the exception of its output follows.
[[nodiscard]] std::string failure_line(const Failure& failure);

}  // namespace hpo

#ifndef HPO_COMPILED
#include "hpo/failure/impl/failure_line_inl.hpp"
#endif
