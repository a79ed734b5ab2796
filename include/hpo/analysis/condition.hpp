// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/param_set.hpp"
#include "hpo/core/value.hpp"

namespace hpo::analysis {

/// A test of one parameter: `train.batch_size >= 48`, `model.name = roberta-large`, `model.name in (a, b)`. False for a trial that does not
/// have the parameter.
struct Condition {
    enum class Relation { at_least, at_most, one_of } relation = Relation::at_least;
    std::string param;
    double bound = 0;            ///< for at_least and at_most
    bool whole = false;          ///< the bound is a whole number
    std::vector<Value> choices;  ///< for one_of

    [[nodiscard]] bool holds(const ParamSet& params) const {
        if (relation == Relation::one_of) {
            const auto value = params.value(param);
            return value && std::ranges::find(choices, *value) != choices.end();
        }
        const auto number = params.number(param);
        if (!number) return false;
        return relation == Relation::at_least ? *number >= bound : *number <= bound;
    }
    [[nodiscard]] std::string bound_text() const { return whole ? std::to_string(static_cast<std::int64_t>(bound)) : number_text(bound); }
};

/// All of some conditions.
using Region = std::vector<Condition>;

[[nodiscard]] inline bool holds(const Region& region, const ParamSet& params) {
    return std::ranges::all_of(region, [&](const Condition& condition) { return condition.holds(params); });
}

/// As a person reads it.
[[nodiscard]] inline std::string describe(const Condition& condition) {
    if (condition.relation == Condition::Relation::at_least) return condition.param + " >= " + condition.bound_text();
    if (condition.relation == Condition::Relation::at_most) return condition.param + " <= " + condition.bound_text();
    if (condition.choices.size() == 1) return condition.param + " = " + display_text(condition.choices.front());
    std::string text = condition.param + " in (";
    for (std::size_t i = 0; i < condition.choices.size(); ++i) text += (i > 0 ? ", " : "") + display_text(condition.choices[i]);
    return text + ")";
}

[[nodiscard]] inline std::string describe(const Region& region) {
    std::string text;
    for (const Condition& condition : region) text += (text.empty() ? "" : " and ") + describe(condition);
    return text;
}

/// "batch_size" of "train.batch_size".
[[nodiscard]] inline std::string_view last_part(std::string_view name) {
    const auto dot = name.find_last_of("./");
    return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

/// True for parameters that make runs differ and mean nothing: seeds.
[[nodiscard]] inline bool is_seed(std::string_view name) {
    const std::string_view last = last_part(name);
    return last == "seed" || last == "random_state" || last == "random_seed";
}

/// True for parameters that a trial's memory cannot depend on, by their usual names: seeds, learning rates and schedules, regularisation
/// strengths, lengths of training. Whatever the numbers say, such a parameter is not why memory ran out.
[[nodiscard]] inline bool is_memory_neutral(std::string_view name) {
    static constexpr std::array<std::string_view, 30> neutral{"lr",        "learning_rate", "weight_decay", "wd",       "momentum",
                                                              "dropout",   "warmup",        "gamma",        "beta",     "beta1",
                                                              "beta2",     "betas",         "eps",          "epsilon",  "label_smoothing",
                                                              "clip",      "max_norm",      "epochs",       "n_epochs", "num_epochs",
                                                              "patience",  "decay",         "l1",           "l2",       "temperature",
                                                              "threshold", "scheduler",     "mixup",        "cutmix",   "l1_ratio"};
    const std::string_view last = last_part(name);
    if (is_seed(name) || std::ranges::find(neutral, last) != neutral.end()) return true;
    return last.ends_with("_lr") || last.starts_with("lr_") || last.ends_with("dropout") || last.ends_with("_decay") ||
           last.starts_with("warmup_") || last.ends_with("_noise") || last.starts_with("adam_") || last.ends_with("_clip");
}

}  // namespace hpo::analysis
