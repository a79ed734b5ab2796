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

#include "hpo/base/inline.hpp"
#include "hpo/store/retries.hpp"
#include "hpo/store/store.hpp"

namespace hpo {

HPO_INLINE std::vector<std::int64_t> trial_numbers(std::string_view json) {
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

HPO_INLINE bool is_lost(const Trial& trial) { return is_finished(trial.state) && !counts_as_done(trial); }

HPO_INLINE std::optional<std::int64_t> latest_checkpoint(const Trial& trial) {
    if (trial.attempts.empty()) return std::nullopt;
    const Attempt& last = trial.attempts.back();
    return last.checkpoint_step ? last.checkpoint_step : last.resumed_step;
}

HPO_INLINE std::vector<std::int64_t> trials_left_behind(std::span<const Trial> trials) {
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

HPO_INLINE Trial retry_of(const Trial& lost, std::optional<std::int64_t> last_kept) {
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
