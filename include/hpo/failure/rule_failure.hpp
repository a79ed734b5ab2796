// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <utility>

#include "hpo/base/json_string.hpp"
#include "hpo/core/trial.hpp"

namespace hpo {

/// The user attribute with the error of a recovery rule. The failure that the rule was asked about is in `error_message`.
inline constexpr const char* rule_error_attribute = "rule_error";

/// The error of the script's rule that ended the trial instead of answering its last failure. Returns nullopt if no rule did. The trial
/// then says nothing about its parameters, because a right rule might have found a plan that runs.
[[nodiscard]] inline std::optional<Failure> rule_failure(const Trial& trial) {
    const auto found = trial.user_attributes.find(rule_error_attribute);
    if (found == trial.user_attributes.end() || trial.attempts.empty()) return std::nullopt;
    auto message = json_string(found->second);
    if (!message) return std::nullopt;
    return Failure{.kind = FailureKind::script_error, .message = *std::move(message)};
}

}  // namespace hpo
