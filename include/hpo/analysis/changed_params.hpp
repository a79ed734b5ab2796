// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hpo/core/trial.hpp"

namespace hpo::analysis {

/// A parameter of an attempt that differs from the trial's, because a rule for failures changed it.
struct ChangedParam {
    std::string name;
    Value value;
    std::optional<Value> instead_of;  ///< nullopt: the trial has no such parameter
};

/// The parameters of an attempt that differ from its trial's, in the attempt's order.
[[nodiscard]] inline std::vector<ChangedParam> changed_params(const Trial& trial, const Attempt& attempt) {
    std::vector<ChangedParam> changed;
    if (!attempt.changed_params) return changed;
    for (const Param& param : *attempt.changed_params) {
        const Param* own = trial.params.find(param.name);
        if (own && own->value() == param.value()) continue;
        changed.push_back({param.name, param.value(), own ? std::optional{own->value()} : std::nullopt});
    }
    return changed;
}

/// "model.width 100 instead of 1500, epochs 1". Empty if no parameter was changed.
[[nodiscard]] inline std::string changes_text(const Trial& trial, const Attempt& attempt) {
    std::string text;
    for (const ChangedParam& param : changed_params(trial, attempt)) {
        text += (text.empty() ? "" : ", ") + param.name + " " + display_text(param.value);
        if (param.instead_of) text += " instead of " + display_text(*param.instead_of);
    }
    return text;
}

/// The last attempt, which gave the trial's result. null for a trial that another program ran.
[[nodiscard]] inline const Attempt* last_attempt(const Trial& trial) { return trial.attempts.empty() ? nullptr : &trial.attempts.back(); }

}  // namespace hpo::analysis
