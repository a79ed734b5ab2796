// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/param_set.hpp"
#include "hpo/core/value.hpp"

namespace hpo::analysis {

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

}  // namespace hpo::analysis
