// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "hpo/analysis/regions/condition.hpp"
#include "hpo/base/inline.hpp"

namespace hpo::analysis::inline regions {

HPO_INLINE bool Condition::holds(const ParamSet& params) const {
    if (relation == Relation::one_of) {
        const auto value = params.value(param);
        return value && std::ranges::find(choices, *value) != choices.end();
    }
    const auto number = params.number(param);
    if (!number) return false;
    return relation == Relation::at_least ? *number >= bound : *number <= bound;
}

HPO_INLINE std::string describe(const Condition& condition) {
    if (condition.relation == Condition::Relation::at_least) return condition.param + " >= " + condition.bound_text();
    if (condition.relation == Condition::Relation::at_most) return condition.param + " <= " + condition.bound_text();
    if (condition.choices.size() == 1) return condition.param + " = " + display_text(condition.choices.front());
    std::string text = condition.param + " in (";
    for (std::size_t i = 0; i < condition.choices.size(); ++i) text += (i > 0 ? ", " : "") + display_text(condition.choices[i]);
    return text + ")";
}

HPO_INLINE std::string describe(const Region& region) {
    std::string text;
    for (const Condition& condition : region) text += (text.empty() ? "" : " and ") + describe(condition);
    return text;
}

HPO_INLINE bool is_memory_neutral(std::string_view name) {
    static constexpr std::array<std::string_view, 30> neutral{"lr",        "learning_rate", "weight_decay", "wd",       "momentum",
                                                              "dropout",   "warmup",        "gamma",        "beta",     "beta1",
                                                              "beta2",     "betas",         "eps",          "epsilon",  "label_smoothing",
                                                              "clip",      "max_norm",      "epochs",       "n_epochs", "num_epochs",
                                                              "patience",  "decay",         "l1",           "l2",       "temperature",
                                                              "threshold", "scheduler",     "mixup",        "cutmix",   "l1_ratio"};
    const std::string_view last = last_part(name);
    if (is_seed(name) || std::ranges::find(neutral, last) != neutral.end()) return true;
    // Layers that are left out at random save memory at times, but at its peak none may be.
    for (const std::string_view word :
         {"dropout", "drop_path", "droppath", "drop_prob", "drop_rate", "attn_drop", "stochastic_depth", "layerdrop"}) {
        if (last.find(word) != std::string_view::npos) return true;
    }
    return last.ends_with("_lr") || last.starts_with("lr_") || last.ends_with("_decay") || last.starts_with("warmup_") ||
           last.ends_with("_noise") || last.starts_with("adam_") || last.ends_with("_clip");
}

}  // namespace hpo::analysis::regions
