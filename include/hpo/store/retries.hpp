// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "hpo/core/trial.hpp"
#include "hpo/store/store.hpp"

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

inline std::vector<std::int64_t> trial_numbers(std::string_view json) {
    std::vector<std::int64_t> numbers;
    if (json.size() < 2 || json.front() != '[' || json.back() != ']') return numbers;
    for (json = json.substr(1, json.size() - 2); !json.empty();) {
        json.remove_prefix(std::min(json.find_first_not_of(" \t\n\r,"), json.size()));
        std::int64_t number = 0;
        const auto [end, error] = std::from_chars(json.data(), json.data() + json.size(), number);
        if (error != std::errc{}) return json.empty() ? numbers : std::vector<std::int64_t>{};
        numbers.push_back(number);
        json.remove_prefix(static_cast<std::size_t>(end - json.data()));
    }
    return numbers;
}

inline bool is_lost(const Trial& trial) { return is_finished(trial.state) && !counts_as_done(trial); }

inline std::optional<std::int64_t> latest_checkpoint(const Trial& trial) {
    if (trial.attempts.empty()) return std::nullopt;
    const Attempt& last = trial.attempts.back();
    return last.checkpoint_step ? last.checkpoint_step : last.resumed_step;
}

inline std::vector<std::int64_t> trials_left_behind(std::span<const Trial> trials) {
    std::vector<std::int64_t> taken;
    for (const Trial& trial : trials) {
        if (!has_taken_over(trial)) continue;
        for (const std::int64_t number : retry_history(trial)) taken.push_back(number);
    }
    std::vector<std::int64_t> left;
    for (const Trial& trial : trials) {
        if (!is_lost(trial) || (trial.params.empty() && trial.fixed.empty())) continue;
        if (trial.attempts.empty() && !retry_history(trial).empty()) continue;
        if (std::find(taken.begin(), taken.end(), trial.number) == taken.end()) left.push_back(trial.number);
    }
    return left;
}

inline Trial retry_of(const Trial& lost, std::optional<std::int64_t> last_kept) {
    Trial retry;
    retry.params = lost.params;
    retry.fixed = lost.fixed;
    retry.user_attributes = lost.user_attributes;
    retry.user_attributes.erase(std::string{lost_attribute});
    retry.system_attributes = lost.system_attributes;
    retry.intermediate = lost.intermediate;
    (void)take_superseded(retry.intermediate, last_kept);
    std::string history;
    for (const std::int64_t number : retry_history(lost)) history += std::to_string(number) + ", ";
    retry.system_attributes[std::string{failed_trial_attribute}] = std::to_string(first_of_line(lost));
    retry.system_attributes[std::string{retry_history_attribute}] = "[" + history + std::to_string(lost.number) + "]";
    return retry;
}

}  // namespace hpo
