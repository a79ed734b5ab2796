// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/param_set.hpp"
#include "hpo/core/value.hpp"

namespace hpo::analysis::inline regions {

/// A test of one parameter: `train.batch_size >= 48`, `model.name = roberta-large`, `model.name in (a, b)`. False for a trial without the
/// parameter.
struct Condition {
    enum class Relation { at_least, at_most, one_of } relation = Relation::at_least;
    std::string param;
    double bound = 0;            ///< for at_least and at_most
    bool whole = false;          ///< the bound is a whole number
    std::vector<Value> choices;  ///< for one_of

    [[nodiscard]] bool holds(const ParamSet& params) const;
    [[nodiscard]] std::string bound_text() const { return whole ? std::to_string(static_cast<std::int64_t>(bound)) : number_text(bound); }
};

/// A region: all of its conditions hold.
using Region = std::vector<Condition>;

[[nodiscard]] inline bool holds(const Region& region, const ParamSet& params) {
    return std::ranges::all_of(region, [&](const Condition& condition) { return condition.holds(params); });
}

/// The condition in words.
[[nodiscard]] std::string describe(const Condition& condition);

[[nodiscard]] std::string describe(const Region& region);

/// "batch_size" of "train.batch_size".
[[nodiscard]] inline std::string_view last_part(std::string_view name) {
    const auto dot = name.find_last_of("./");
    return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

/// True for seeds: parameters that make runs differ without a meaning.
[[nodiscard]] inline bool is_seed(std::string_view name) {
    const std::string_view last = last_part(name);
    return last == "seed" || last == "random_state" || last == "random_seed";
}

/// True for parameters that a trial's memory cannot depend on, by their usual names: seeds, learning rates and schedules, regularisation
/// strengths, lengths of training. Such a parameter is never named as the cause of an out-of-memory.
[[nodiscard]] bool is_memory_neutral(std::string_view name);

}  // namespace hpo::analysis::regions

#ifndef HPO_COMPILED
#include "hpo/analysis/regions/impl/condition_inl.hpp"
#endif
