// SPDX-License-Identifier: MIT
#include "hpo/space/count.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <range/v3/numeric/accumulate.hpp>
#include <range/v3/view/zip.hpp>

#include "hpo/core/seed.hpp"
#include "hpo/space/enumeration.hpp"
#include "space/factored_space.hpp"

namespace hpo::detail {

[[nodiscard]] SpacePath random_path(const Space& space, int run, bool continuous_at_middle, AtRefusal at_refusal = AtRefusal::end) {
    const Seed seed = Seed{0xC0DE}.derive(static_cast<std::uint64_t>(run));
    const auto choose = [&](std::size_t, const std::string& name, const Axis& axis) {
        const double share = seed.derive(name).rng().uniform();
        return axis.is_continuous() && continuous_at_middle ? axis.value(0) : axis.value_at(share);
    };
    return walk(space, choose, at_refusal);
}

/// How many paths there are if each question has as many answers as on this one.
[[nodiscard]] double product_of_sizes(const SpacePath& path) {
    return ranges::accumulate(path.steps, 1.0, std::multiplies{},
                              [](const PathStep& step) { return static_cast<double>(step.axis.size()); });
}

/// Knuth's estimate of the number of leaves (Mathematics of Computation 29, 1975): the mean over random paths of the
/// product of the branching factors.
[[nodiscard]] double estimated_leaves(const Space& space, int runs, std::vector<std::string>& continuous, AtRefusal at_refusal) {
    double sum = 0;
    std::unordered_set<std::string> met;
    for (int run = 0; run < runs; ++run) {
        const SpacePath path = random_path(space, run, true, at_refusal);
        for (const PathStep& step : path.steps) {
            if (step.axis.is_continuous() && met.insert(step.name).second) continuous.push_back(step.name);
        }
        sum += product_of_sizes(path);
    }
    return sum / runs;
}

/// True if the discrete questions do not depend on the value of a continuous parameter, as far as random runs show. A space with many
/// questions is run less often, because each run shows more.
[[nodiscard]] bool continuous_is_independent(const Space& space, int runs, AtRefusal at_refusal) {
    constexpr std::size_t most_questions = 200'000;
    const auto same_question = [](const PathStep& a, const PathStep& b) { return a.name == b.name && a.axis.size() == b.axis.size(); };
    std::size_t questions = 0;
    for (int run = 0; run < runs && questions < most_questions; ++run) {
        const SpacePath spread = random_path(space, run, false, at_refusal);
        const SpacePath middle = random_path(space, run, true, at_refusal);
        if (spread.end.refused != middle.end.refused || spread.end.outside != middle.end.outside) return false;
        if (!std::ranges::equal(spread.steps, middle.steps, same_question)) return false;
        questions += spread.steps.size();
    }
    return true;
}

/// Enumerates the space. Returns false if it has more combinations than `most_runs`.
[[nodiscard]] bool enumerate_into(const Space& space, std::uint64_t most_runs, AtRefusal at_refusal, Counted& counted) {
    const auto visit = [&](const ParamSet& params, bool refused) {
        Seed shape{1};
        for (const Param& param : params) shape = shape.derive(param.name);
        const Tally::Part one{refused ? 0U : 1U, refused ? 1U : 0U, {shape.value}};
        counted.tally.whole.add(one, 1);
        for (const Param& param : params) {
            if (const auto* categorical = std::get_if<CategoricalDistribution>(param.distribution.get())) {
                counted.tally.categorical(param.name, *categorical).parts[static_cast<std::size_t>(param.internal)].add(one, 1);
            }
        }
    };
    const Enumerated met = for_each_combination(space, most_runs, visit, at_refusal);
    counted.cut = met.cut;
    for (const std::string& name : met.continuous) {
        if (std::find(counted.continuous.begin(), counted.continuous.end(), name) == counted.continuous.end())
            counted.continuous.push_back(name);
    }
    return met.complete;
}

/// Counts in one of the ways that `options` allow.
[[nodiscard]] Counted count_combinations(const Space& space, const CountOptions& options, AtRefusal at_refusal) {
    static constexpr int random_runs = 1000;
    const auto is_independent = [&](const Counted& counted) {
        return counted.continuous.empty() || continuous_is_independent(space, random_runs, at_refusal);
    };
    Counted first;
    if (estimated_leaves(space, 256, first.continuous, at_refusal) <= static_cast<double>(options.enumerate_up_to)) {
        if (enumerate_into(space, options.enumerate_at_most, at_refusal, first)) {
            first.exact = is_independent(first);
            return first;
        }
    }
    for (int probes = 8; probes <= 128; probes *= 4) {
        const FactoredSpace model{space, probes, at_refusal};
        if (model.gave_up()) break;
        if (model.disagreements(random_runs) > 0) continue;
        return {model.tally(), model.exact(), model.cut(), std::move(first.continuous)};
    }
    Counted rest;
    rest.continuous = std::move(first.continuous);
    rest.exact = enumerate_into(space, options.enumerate_at_most, at_refusal, rest) && is_independent(rest);
    return rest;
}

bool branches(const Tally::Parameter& parameter) {
    const Tally::Part& first = parameter.parts.begin()->second;
    return std::any_of(parameter.parts.begin(), parameter.parts.end(),
                       [&](const auto& entry) { return entry.second.accepted != first.accepted || entry.second.shapes != first.shapes; });
}

/// Sets how many combinations `require` refuses. A run that `require` ends early stands for all combinations it would have had. So here the
/// space continues after a refusal. If these cannot be counted, random combinations give an estimate.
void count_refused(const Space& space, const CountOptions& options, SpaceCount& result) {
    Counted counted;  // if the space itself could not be counted, this larger one cannot be either
    if (result.exact) counted = count_combinations(space, options, AtRefusal::go_on);
    const auto add = [&](const std::vector<Tally::Parameter>& categoricals) {
        for (const Tally::Parameter& parameter : categoricals) {
            if (parameter.name != result.branches_by) continue;
            for (const auto& [choice, part] : parameter.parts) {
                const Value& value = parameter.choices[choice];
                const auto found = std::find_if(result.branches.begin(), result.branches.end(),
                                                [&](const CountBranch& branch) { return branch.value == value; });
                if (found != result.branches.end()) found->refused = part.refused;
            }
        }
    };
    if (counted.exact && counted.tally.whole.accepted == result.combinations) {
        result.refused = counted.tally.whole.refused;
        result.refused_is = counted.cut ? RefusedCount::at_least : RefusedCount::exact;
        add(counted.tally.categoricals);
        return;
    }
    constexpr int runs = 4096;
    double refused = 0;
    std::vector<double> by_branch(result.branches.size(), 0);
    for (int run = 0; run < runs; ++run) {
        const SpacePath path = random_path(space, run, false, AtRefusal::go_on);
        if (!path.end.refused) continue;
        const double share = product_of_sizes(path) / runs;
        refused += share;
        for (const PathStep& step : path.steps) {
            if (step.name != result.branches_by) continue;
            const Value value = to_value(step.distribution, step.internal);
            for (auto&& [branch, estimate] : ranges::views::zip(result.branches, by_branch)) estimate += branch.value == value ? share : 0;
        }
    }
    const auto whole = [](double number) { return number < 0x1p63 ? static_cast<std::uint64_t>(number + 0.5) : Axis::most; };
    result.refused = whole(refused);
    result.refused_is = RefusedCount::estimate;
    for (auto&& [branch, estimate] : ranges::views::zip(result.branches, by_branch)) branch.refused = whole(estimate);
}

}  // namespace hpo::detail

namespace hpo {

SpaceCount count(const Space& space, const CountOptions& options) {
    SpaceCount result;
    detail::Counted counted = detail::count_combinations(space, options, AtRefusal::end);
    result.exact = counted.exact;
    result.continuous = std::move(counted.continuous);
    result.combinations = counted.tally.whole.accepted;
    if (result.combinations >= Axis::most) result.exact = false;

    const Tally::Parameter* listed = nullptr;
    std::vector<std::string> known;
    for (const Tally::Parameter& parameter : counted.tally.categoricals) {
        known.push_back(parameter.name);
        if (!listed && (options.by.empty() ? detail::branches(parameter) : parameter.name == options.by)) listed = &parameter;
    }
    if (!listed && !options.by.empty()) throw unknown_name("space", "categorical parameter", options.by, known);
    if (listed) {
        result.branches_by = listed->name;
        for (const auto& [choice, part] : listed->parts) result.branches.push_back({listed->choices[choice], part.accepted});
    }
    if (counted.tally.whole.refused > 0 || !counted.exact) detail::count_refused(space, options, result);
    return result;
}

}  // namespace hpo
