// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "hpo/core/seed.hpp"
#include "hpo/space/enumeration.hpp"
#include "hpo/space/factored_space.hpp"
#include "hpo/space/tally.hpp"

namespace hpo {

/// How a space is counted.
struct CountOptions {
    std::string by;                             ///< the categorical to list by; empty: the first one that branches
    std::uint64_t enumerate_up_to = 50'000;     ///< larger spaces are factored instead
    std::uint64_t enumerate_at_most = 200'000;  ///< runs, where factoring failed
};

/// One value of the categorical that a count is listed by.
struct CountBranch {
    Value value;
    std::uint64_t combinations = 0;
    std::uint64_t refused = 0;
};

/// The number of combinations in a space, continuous parameters aside.
struct SpaceCount {
    std::uint64_t combinations = 0;
    bool exact = true;                    ///< false: there are at least as many
    std::uint64_t refused = 0;            ///< excluded by `require`; a proposal refused before its last question counts once
    std::vector<std::string> continuous;  ///< names of the parameters that have no number of values
    std::string branches_by;              ///< empty: no categorical changes what follows it
    std::vector<CountBranch> branches;    ///< in the order of its choices
};

namespace detail {

[[nodiscard]] inline SpacePath random_path(const Space& space, int run, bool continuous_at_middle) {
    const Seed seed = Seed{0xC0DE}.derive(static_cast<std::uint64_t>(run));
    return walk(space, [&](std::size_t, const std::string& name, const Axis& axis) {
        const double share = seed.derive(name).rng().uniform();
        return axis.is_continuous() && continuous_at_middle ? axis.value(0) : axis.value_at(share);
    });
}

/// Knuth's estimate of the number of leaves (Mathematics of Computation 29, 1975): the mean over random paths of the
/// product of the branching factors.
[[nodiscard]] inline double estimated_leaves(const Space& space, int runs, std::vector<std::string>& continuous) {
    double sum = 0;
    std::unordered_set<std::string> met;
    for (int run = 0; run < runs; ++run) {
        double product = 1;
        for (const PathStep& step : random_path(space, run, true).steps) {
            product *= static_cast<double>(step.axis.size());
            if (step.axis.is_continuous() && met.insert(step.name).second) continuous.push_back(step.name);
        }
        sum += product;
    }
    return sum / runs;
}

/// True when the discrete questions do not depend on where in its range a continuous parameter lies, as far as random
/// runs show. A long space is run less often: it shows more in a run.
[[nodiscard]] inline bool continuous_is_independent(const Space& space, int runs) {
    constexpr std::size_t most_questions = 200'000;
    std::size_t questions = 0;
    for (int run = 0; run < runs && questions < most_questions; ++run) {
        const SpacePath spread = random_path(space, run, false);
        const SpacePath middle = random_path(space, run, true);
        if (spread.refused != middle.refused || spread.steps.size() != middle.steps.size()) return false;
        for (std::size_t i = 0; i < spread.steps.size(); ++i) {
            ++questions;
            if (spread.steps[i].name != middle.steps[i].name || spread.steps[i].axis.size() != middle.steps[i].axis.size()) return false;
        }
    }
    return true;
}

/// Enumerates the space into a tally and the names of its continuous parameters.
[[nodiscard]] inline bool enumerate_into(const Space& space, std::uint64_t most_runs, Tally& tally, std::vector<std::string>& continuous) {
    const auto visit = [&](const ParamSet& params, bool refused) {
        Seed shape{1};
        for (const Param& param : params) shape = shape.derive(param.name);
        const Tally::Part one{refused ? 0U : 1U, refused ? 1U : 0U, {shape.value}};
        tally.whole.add(one, 1);
        for (const Param& param : params) {
            if (const auto* categorical = get_if<CategoricalDistribution>(param.distribution.get())) {
                tally.categorical(param.name, *categorical).parts[static_cast<std::size_t>(param.internal)].add(one, 1);
            } else if (Axis{*param.distribution, {}}.is_continuous() &&
                       std::find(continuous.begin(), continuous.end(), param.name) == continuous.end()) {
                continuous.push_back(param.name);
            }
        }
    };
    return for_each_combination(space, most_runs, visit).complete;
}

[[nodiscard]] inline bool branches(const Tally::Parameter& parameter) {
    const Tally::Part& first = parameter.parts.begin()->second;
    return std::any_of(parameter.parts.begin(), parameter.parts.end(),
                       [&](const auto& entry) { return entry.second.accepted != first.accepted || entry.second.shapes != first.shapes; });
}

}  // namespace detail

/// Counts a space. Spaces of up to `enumerate_up_to` combinations (by estimate) are enumerated; larger ones are factored
/// where sub-trees agree, which is checked by random runs. Where neither answers, the combinations met within
/// `enumerate_at_most` runs are what there is at least. Throws unknown_name when `by` is no categorical of the space.
[[nodiscard]] inline SpaceCount count(const Space& space, const CountOptions& options = {}) {
    static constexpr int random_runs = 1000;
    SpaceCount result;
    Tally tally;
    bool counted = false;
    if (detail::estimated_leaves(space, 256, result.continuous) <= static_cast<double>(options.enumerate_up_to)) {
        counted = detail::enumerate_into(space, options.enumerate_at_most, tally, result.continuous);
        result.exact = counted && (result.continuous.empty() || detail::continuous_is_independent(space, random_runs));
    }
    for (int probes = 8; !counted && probes <= 128; probes *= 4) {
        const FactoredSpace model{space, probes};
        if (model.gave_up()) break;
        if (model.disagreements(random_runs) > 0) continue;
        tally = model.tally();
        result.exact = model.exact();
        counted = true;
    }
    if (!counted) {
        tally = Tally{};
        counted = detail::enumerate_into(space, options.enumerate_at_most, tally, result.continuous);
        result.exact = counted && (result.continuous.empty() || detail::continuous_is_independent(space, random_runs));
    }
    result.combinations = tally.whole.accepted;
    result.refused = tally.whole.refused;
    if (result.combinations >= Axis::most) result.exact = false;

    const Tally::Parameter* listed = nullptr;
    std::vector<std::string> known;
    for (const Tally::Parameter& parameter : tally.categoricals) {
        known.push_back(parameter.name);
        if (!listed && (options.by.empty() ? detail::branches(parameter) : parameter.name == options.by)) listed = &parameter;
    }
    if (!listed && !options.by.empty()) throw unknown_name("space", "categorical parameter", options.by, known);
    if (listed) {
        result.branches_by = listed->name;
        for (const auto& [choice, part] : listed->parts) result.branches.push_back({listed->choices[choice], part.accepted, part.refused});
    }
    return result;
}

}  // namespace hpo
