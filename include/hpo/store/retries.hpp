// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/trial.hpp"

namespace hpo {

// A trial that runs a lost one again, or goes on with it, says so as Optuna's readers know it, in two system attributes.

/// The number of the trial that was begun first.
inline constexpr std::string_view failed_trial_attribute = "failed_trial";
/// The numbers of all trials that it goes on with, a list, the latest last.
inline constexpr std::string_view retry_history_attribute = "retry_history";

/// The whole numbers of a JSON list of them, as the attribute `retry_history` has it; empty for anything else.
[[nodiscard]] std::vector<std::int64_t> trial_numbers(std::string_view json);

/// The trials that this one goes on with, from the first; empty for most.
[[nodiscard]] inline std::vector<std::int64_t> retry_history(const Trial& trial) {
    const auto found = trial.system_attributes.find(std::string{retry_history_attribute});
    return found == trial.system_attributes.end() ? std::vector<std::int64_t>{} : trial_numbers(found->second);
}
/// The trial that was begun first of those that this one goes on with, or itself: its random numbers are theirs.
[[nodiscard]] inline std::int64_t first_of_line(const Trial& trial) {
    const auto history = retry_history(trial);
    return history.empty() ? trial.number : history.front();
}

/// True for a trial that its supervisor left behind.
[[nodiscard]] bool is_lost(const Trial& trial);

/// The step of the latest checkpoint that a trial's last attempt wrote or went on from; nothing: it would begin anew.
[[nodiscard]] std::optional<std::int64_t> latest_checkpoint(const Trial& trial);

/// True when a trial goes on with others for good: one that was lost before its first attempt changed nothing.
[[nodiscard]] inline bool has_taken_over(const Trial& trial) { return !is_lost(trial) || !trial.attempts.empty(); }

/// True when a trial goes on with the one of this number, for good.
[[nodiscard]] inline bool goes_on_with(const Trial& trial, std::int64_t number) {
    const auto history = retry_history(trial);
    return std::find(history.begin(), history.end(), number) != history.end() && has_taken_over(trial);
}

/// The lost trials whose configuration is known and that no other trial runs again or goes on with, by number. Of a line of trials it is
/// at most one: a retry that was itself lost before its first attempt leaves the trial before it to be retried.
[[nodiscard]] std::vector<std::int64_t> trials_left_behind(std::span<const Trial> trials);

/// The beginning of a trial that goes on with a lost one after `last_kept`, or runs it again from its beginning (nothing): its
/// parameters, what was attached to it, and its reports up to there. Number, id and state are still to be given.
[[nodiscard]] Trial retry_of(const Trial& lost, std::optional<std::int64_t> last_kept);

}  // namespace hpo

#ifndef HPO_COMPILED
#include "hpo/store/impl/retries_inl.hpp"
#endif
