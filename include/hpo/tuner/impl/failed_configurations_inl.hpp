// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "hpo/base/inline.hpp"
#include "hpo/failure/failure_line.hpp"
#include "hpo/failure/rule_failure.hpp"
#include "hpo/failure/signature.hpp"
#include "hpo/failure/traits.hpp"
#include "hpo/tuner/failed_configurations.hpp"

namespace hpo::tuner {

HPO_INLINE std::optional<std::string> fails_again(const ParamSet& params, std::span<const Trial> trials,
                                                  const std::function<bool(const Failure&)>& counts) {
    std::map<std::string, std::int64_t> failures;  // by signature
    std::optional<std::string> why;
    for (const Trial& trial : trials) {  // most trials end well, and their parameters need not be compared
        if ((trial.state != TrialState::fail && trial.state != TrialState::pruned) || trial.attempts.empty()) continue;
        if (!trial.attempts.back().failure || !(trial.params == params) || rule_failure(trial)) continue;
        const Failure& failure = *trial.attempts.back().failure;
        if (traits_of(failure).recurrence != Recurrence::deterministic || (counts && !counts(failure))) continue;
        if (const std::int64_t equal = ++failures[signature(failure)]; equal >= most_equal_failures) {
            why = std::to_string(equal) + " trials with these parameters failed in the same way, the latest in trial " +
                  std::to_string(trial.number) + ": " + failure_line(failure);
        }
    }
    const auto ended_well = [&](const Trial& trial) { return trial.state == TrialState::complete && trial.params == params; };
    if (why && std::ranges::any_of(trials, ended_well)) return std::nullopt;
    return why;
}

HPO_INLINE bool may_be_exhausted(std::span<const Trial> trials) {
    std::int64_t failed = 0;
    for (const Trial& trial : trials) {
        if (trial.state == TrialState::waiting) return false;
        failed += (trial.state == TrialState::fail || trial.state == TrialState::pruned) && !trial.attempts.empty() &&
                          trial.attempts.back().failure
                      ? 1
                      : 0;
    }
    return failed >= most_equal_failures;
}

}  // namespace hpo::tuner
