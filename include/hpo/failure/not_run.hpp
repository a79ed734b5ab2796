// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "hpo/core/trial.hpp"

namespace hpo {

/// The beginning of the message of a trial that was ended without being started.
inline constexpr std::string_view cannot_run_as_enqueued = "cannot run as enqueued: ";
inline constexpr std::string_view not_run_again = "not run again: ";

/// True for a trial that has no attempt and a message that says that it was not started. So no trainer has failed.
[[nodiscard]] inline bool was_not_run(const Trial& trial, std::string_view message) {
    return trial.attempts.empty() && (message.starts_with(cannot_run_as_enqueued) || message.starts_with(not_run_again));
}

}  // namespace hpo
