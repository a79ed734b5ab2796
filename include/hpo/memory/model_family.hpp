// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <variant>

#include "hpo/core/param_set.hpp"
#include "hpo/core/plan.hpp"

namespace hpo::memory {

/// Attempts of one family are alike in what their predictions miss: the same trainer, precision and checkpointing, and the same value of
/// each parameter whose value is a text, such as a model's name or an optimizer: "text_classifier bf16 model=bert-base".
[[nodiscard]] inline std::string model_family(const std::string& trainer, const ParamSet& params, const ExecutionPlan& plan) {
    std::string family = trainer;
    family += (family.empty() ? "" : " ") + std::string{to_text(plan.precision)};
    if (plan.activation_checkpointing) family += " checkpointing";
    for (const Param& param : params) {
        const Value value = param.value();
        if (const auto* text = get_if<std::string>(&value)) family.append(" ").append(param.name).append("=").append(*text);
    }
    return family;
}

}  // namespace hpo::memory
