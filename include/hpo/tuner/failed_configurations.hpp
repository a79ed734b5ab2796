// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "hpo/core/param_set.hpp"
#include "hpo/core/trial.hpp"
#include "hpo/failure/failure_line.hpp"
#include "hpo/failure/rule_failure.hpp"
#include "hpo/failure/signature.hpp"
#include "hpo/failure/traits.hpp"

namespace hpo::tuner {

/// So many trials with the same parameters may fail in the same way. Then no other trial gets these parameters.
inline constexpr std::int64_t most_equal_failures = 3;

/// Says why a proposal is not worth another trial: `most_equal_failures` trials with these very parameters failed, each with the same
/// signature, and such a failure comes again (Recurrence::deterministic). Returns nullopt if it is worth one. Failures for which `counts`
/// is set and false do not count (TuneOptions::breaker_counts), nor do trials that a rule's own error ended. O(trials).
[[nodiscard]] std::optional<std::string> fails_again(const ParamSet& params, std::span<const Trial> trials,
                                                     const std::function<bool(const Failure&)>& counts = {});

/// False if it is plain from the trials' states that fails_again returns nullopt for all parameters. Also false if an enqueued trial waits,
/// which runs in any case. O(trials).
[[nodiscard]] bool may_be_exhausted(std::span<const Trial> trials);

inline std::optional<std::string> fails_again(const ParamSet& params, std::span<const Trial> trials,
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

inline bool may_be_exhausted(std::span<const Trial> trials) {
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
