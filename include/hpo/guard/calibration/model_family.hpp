// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <variant>

#include "hpo/core/param_set.hpp"
#include "hpo/core/plan.hpp"
#include "hpo/core/plan_text.hpp"

namespace hpo::guard {

/// The family of an attempt: "text_classifier bf16 model=bert-base". Predictions for attempts of one family have similar errors. They have
/// the same trainer, and the same levers that act on training, but for the batches. They also have the same value of each text parameter,
/// such as a model's name or an optimizer.
[[nodiscard]] inline std::string model_family(const std::string& trainer, const ParamSet& params, const ExecutionPlan& plan) {
    std::string family = trainer;
    const auto add = [&](const std::string& words) { family.append(family.empty() ? "" : " ").append(words); };
    // Stores have families that begin with these two, in these words.
    add(std::string{to_text(plan.precision)});
    if (plan.activation_checkpointing) add("checkpointing");
    each_plan_field([&](const auto& field) {
        const bool has_words = field.key == "precision" || field.key == "activation_checkpointing";
        if (field.effect != PlanEffect::training || field.unit == PlanUnit::examples || has_words) return;
        if (const std::string words = plan_words(field, plan.*field.member); !words.empty()) add(words);
    });
    for (const Param& param : params) {
        const Value value = param.value();
        if (const auto* text = std::get_if<std::string>(&value)) family.append(" ").append(param.name).append("=").append(*text);
    }
    return family;
}

}  // namespace hpo::guard
