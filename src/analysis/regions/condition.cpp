// SPDX-License-Identifier: MIT
#include "hpo/analysis/regions/condition.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace hpo::analysis {

bool Condition::holds(const ParamSet& params) const {
    if (relation == Relation::one_of) {
        const auto value = params.value(param);
        return value && std::ranges::find(choices, *value) != choices.end();
    }
    const auto number = params.number(param);
    if (!number) return false;
    return relation == Relation::at_least ? *number >= bound : *number <= bound;
}

std::string describe(const Condition& condition) {
    if (condition.relation == Condition::Relation::at_least) return condition.param + " >= " + condition.bound_text();
    if (condition.relation == Condition::Relation::at_most) return condition.param + " <= " + condition.bound_text();
    if (condition.choices.size() == 1) return condition.param + " = " + display_text(condition.choices.front());
    std::string text = condition.param + " in (";
    for (std::size_t i = 0; i < condition.choices.size(); ++i) text += (i > 0 ? ", " : "") + display_text(condition.choices[i]);
    return text + ")";
}

std::string describe(const Region& region) {
    std::string text;
    for (const Condition& condition : region) text += (text.empty() ? "" : " and ") + describe(condition);
    return text;
}

}  // namespace hpo::analysis
