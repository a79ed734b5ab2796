// SPDX-License-Identifier: MIT
#include "hpo/analysis/rules/safe_region.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace hpo::analysis {

std::optional<SafeRegion> safe_region(std::span<const Example> examples) {
    constexpr std::size_t most_conditions = 4;
    constexpr std::size_t least_trials = 6;
    struct Inside {
        std::size_t positives = 0;
        std::size_t others = 0;
    };
    using Chosen = std::vector<const Example*>;
    const auto count = [](const Chosen& among, const auto& is_inside) {
        Inside counted;
        for (const Example* example : among) {
            if (is_inside(*example->params)) ++(example->positive ? counted.positives : counted.others);
        }
        return counted;
    };
    const auto inside = [&](const Region& region) { return [&](const ParamSet& params) { return holds(region, params); }; };
    Chosen all;
    for (const Example& example : examples) all.push_back(&example);
    SafeRegion safe;
    Chosen left = all;  // the examples in the region
    Inside now = count(all, inside({}));
    const std::vector<Condition> candidates = now.positives == 0 ? std::vector<Condition>{} : detail::candidate_conditions(examples);
    while (now.positives > 0 && safe.region.size() < most_conditions) {
        double best = 0;
        const Condition* chosen = nullptr;
        Inside after;
        for (const Condition& condition : candidates) {
            const Inside then = count(left, [&](const ParamSet& params) { return condition.holds(params); });
            if (then.positives == now.positives || then.others < least_trials) continue;
            const double value = static_cast<double>(now.positives - then.positives) * static_cast<double>(then.others) /
                                 static_cast<double>(now.others - then.others + 1);
            if (value <= best) continue;
            best = value;
            chosen = &condition;
            after = then;
        }
        if (!chosen) return std::nullopt;
        std::erase_if(left, [&](const Example* example) { return !chosen->holds(*example->params); });
        safe.region.push_back(*chosen);
        now = after;
    }
    if (now.positives > 0 || now.others < least_trials) return std::nullopt;
    for (std::size_t i = 0; i < safe.region.size();) {
        Region without = safe.region;
        without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
        if (count(all, inside(without)).positives == 0) safe.region = std::move(without);
        else ++i;
    }
    safe.trials = count(all, inside(safe.region)).others;
    return safe;
}

}  // namespace hpo::analysis
