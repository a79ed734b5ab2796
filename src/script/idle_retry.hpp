// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "hpo/recovery/concept.hpp"

namespace hpo::script::recovery_answer {

/// True if a retry would run as the failed attempt did, or waits for memory that the device does not have. A device that the run does not
/// have is no change. False after a crash, because the process is another then, and if the retry goes on from a checkpoint, unless the
/// retry asks for such a device.
[[nodiscard]] bool changes_nothing(const FailedAttempt& failed, const Recovery& retry);

/// What is told of a retry that changes nothing.
[[nodiscard]] std::string idle_note(const FailedAttempt& failed, const Recovery& retry);

/// The earlier attempt that ran out of memory by its own need, with the plan and the parameters of the retry. Null if there is none, or if
/// the retry runs under other circumstances.
[[nodiscard]] const Attempt* failed_so(const FailedAttempt& failed, const Recovery& retry);

}  // namespace hpo::script::recovery_answer
