// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <variant>

#include "hpo/core/param_set.hpp"
#include "hpo/core/plan.hpp"

namespace hpo::guard {

/// The family of an attempt: "text_classifier bf16 model=bert-base". Predictions for attempts of one family have similar errors. They have
/// the same trainer, precision and checkpointing. They also have the same value of each text parameter, such as a model's name or an
/// optimizer.
[[nodiscard]] inline std::string model_family(const std::string& trainer, const ParamSet& params, const ExecutionPlan& plan) {
    std::string family = trainer;
    family += (family.empty() ? "" : " ") + std::string{to_text(plan.precision)};
    if (plan.activation_checkpointing) family += " checkpointing";
    for (const Param& param : params) {
        const Value value = param.value();
        if (const auto* text = std::get_if<std::string>(&value)) family.append(" ").append(param.name).append("=").append(*text);
    }
    return family;
}

}  // namespace hpo::guard
