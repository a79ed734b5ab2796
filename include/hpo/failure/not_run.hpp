// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "hpo/core/trial.hpp"

namespace hpo {

/// How the message of a trial begins that was ended instead of being started.
inline constexpr std::string_view cannot_run_as_enqueued = "cannot run as enqueued: ";
inline constexpr std::string_view not_run_again = "not run again: ";

/// True for a trial without an attempt whose message says that it was not started: no trainer has failed.
[[nodiscard]] inline bool was_not_run(const Trial& trial, std::string_view message) {
    return trial.attempts.empty() && (message.starts_with(cannot_run_as_enqueued) || message.starts_with(not_run_again));
}

}  // namespace hpo
