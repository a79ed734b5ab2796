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

// A trial that runs a lost one again, or goes on with it, has two system attributes that say so. Optuna's readers know them.

/// The number of the trial that was begun first.
inline constexpr std::string_view failed_trial_attribute = "failed_trial";
/// A list of the numbers of all trials that it goes on with, oldest first.
inline constexpr std::string_view retry_history_attribute = "retry_history";

/// The numbers of a JSON list, as in the attribute `retry_history`. Empty if the text is something else.
[[nodiscard]] std::vector<std::int64_t> trial_numbers(std::string_view json);

/// The trials that this one goes on with, oldest first. Empty for most trials.
[[nodiscard]] inline std::vector<std::int64_t> retry_history(const Trial& trial) {
    const auto found = trial.system_attributes.find(std::string{retry_history_attribute});
    return found == trial.system_attributes.end() ? std::vector<std::int64_t>{} : trial_numbers(found->second);
}
/// The oldest trial that this one goes on with, or the trial itself. All of them use the random numbers of the oldest.
[[nodiscard]] inline std::int64_t first_of_line(const Trial& trial) {
    const auto history = retry_history(trial);
    return history.empty() ? trial.number : history.front();
}

/// True if the trial ended because its supervisor or study was stopped.
[[nodiscard]] bool is_lost(const Trial& trial);

/// The step of the latest checkpoint that a trial's last attempt wrote or went on from. Returns nullopt if there is none, so that the trial
/// would begin at step 0.
[[nodiscard]] std::optional<std::int64_t> latest_checkpoint(const Trial& trial);

/// True if a trial has taken the place of the trials that it goes on with. A trial that was lost before its first attempt has not.
[[nodiscard]] inline bool has_taken_over(const Trial& trial) { return !is_lost(trial) || !trial.attempts.empty(); }

/// True if a trial has taken the place of the trial with this number.
[[nodiscard]] inline bool goes_on_with(const Trial& trial, std::int64_t number) {
    const auto history = retry_history(trial);
    return std::find(history.begin(), history.end(), number) != history.end() && has_taken_over(trial);
}

/// The numbers of lost trials that another trial can take over. Their configuration is known, and no trial has taken their place yet. Of
/// several trials that go on with each other, it has at most one. If such a trial was lost before its first attempt, the one before it
/// counts.
[[nodiscard]] std::vector<std::int64_t> trials_left_behind(std::span<const Trial> trials);

/// A trial that goes on with a lost one after `last_kept`, or runs it again from the beginning if that is nullopt. It has the parameters
/// and attributes of the lost trial, and its reports up to `last_kept`. The caller sets number, id and state.
[[nodiscard]] Trial retry_of(const Trial& lost, std::optional<std::int64_t> last_kept);

}  // namespace hpo

#ifndef HPO_COMPILED
#include "hpo/store/impl/retries_inl.hpp"
#endif
