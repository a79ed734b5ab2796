// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "hpo/analysis/condition.hpp"

namespace hpo::analysis {

/// One trial for the learner.
struct Example {
    const ParamSet* params = nullptr;
    bool positive = false;
    std::optional<double> peak_bytes;  ///< that it needed, where it was measured
};

struct LearnedRegion {
    Region region;
    std::size_t examples = 0;
    std::size_t positives = 0;
};

namespace detail {

using Bits = std::vector<std::uint64_t>;

struct Counted {
    std::size_t examples = 0;
    std::size_t positives = 0;
};

struct Candidate {
    Condition condition;
    Bits holds;
    std::size_t positives = 0;
};

[[nodiscard]] inline Counted count(const Bits& a, const Bits& b, const Bits& positive) {
    Counted counted;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const std::uint64_t both = a[i] & b[i];
        counted.examples += static_cast<std::size_t>(std::popcount(both));
        counted.positives += static_cast<std::size_t>(std::popcount(both & positive[i]));
    }
    return counted;
}

/// The conditions worth trying: for a parameter of numbers each value seen as a lower and an upper bound (32 quantiles when there are
/// more), for a parameter of choices each choice, and the two or three with the highest share of positives together.
[[nodiscard]] inline std::vector<Condition> candidate_conditions(std::span<const Example> examples) {
    std::map<std::string, std::vector<const Example*>> by_name;
    for (const Example& example : examples) {
        for (const Param& param : *example.params) by_name[param.name].push_back(&example);
    }
    std::vector<Condition> conditions;
    for (const auto& [name, owners] : by_name) {
        if (is_memory_neutral(name)) continue;
        std::set<double> numbers;
        std::vector<std::pair<Value, Counted>> choices;
        bool whole = true;
        for (const Example* example : owners) {
            const Value value = *example->params->value(name);
            if (const auto* real = get_if<double>(&value)) {
                numbers.insert(*real);
                whole = false;
            } else if (const auto* integer = get_if<std::int64_t>(&value)) {
                numbers.insert(static_cast<double>(*integer));
            } else {
                auto found = std::ranges::find_if(choices, [&](const auto& choice) { return choice.first == value; });
                if (found == choices.end()) found = choices.insert(choices.end(), {value, Counted{}});
                ++found->second.examples;
                if (example->positive) ++found->second.positives;
            }
        }
        const std::vector<double> sorted(numbers.begin(), numbers.end());
        const std::size_t steps = std::min<std::size_t>(sorted.size(), 33);
        for (std::size_t i = 1; i < steps; ++i) {
            const std::size_t at = i * sorted.size() / steps;
            conditions.push_back(
                {.relation = Condition::Relation::at_least, .param = name, .bound = sorted[at], .whole = whole, .choices = {}});
            conditions.push_back(
                {.relation = Condition::Relation::at_most, .param = name, .bound = sorted[at - 1], .whole = whole, .choices = {}});
        }
        if (choices.size() < 2 || choices.size() > 50) continue;
        std::ranges::stable_sort(choices, [](const auto& a, const auto& b) {
            return a.second.positives * b.second.examples > b.second.positives * a.second.examples;
        });
        Condition together{.relation = Condition::Relation::one_of, .param = name, .choices = {}};
        for (std::size_t i = 0; i < choices.size(); ++i) {
            conditions.push_back({.relation = Condition::Relation::one_of, .param = name, .choices = {choices[i].first}});
            together.choices.push_back(choices[i].first);
            if (i >= 1 && i <= 2 && i + 1 < choices.size()) conditions.push_back(together);
        }
    }
    return conditions;
}

/// The logarithm of the chance that `positives` or more of `examples` are positive when each is so with probability `rate`.
[[nodiscard]] inline double log_chance(const Counted& counted, double rate) {
    const auto n = static_cast<double>(counted.examples);
    double tail = 0;
    for (std::size_t k = counted.positives; k <= counted.examples; ++k) {
        const auto x = static_cast<double>(k);
        const double term =
            std::lgamma(n + 1) - std::lgamma(x + 1) - std::lgamma(n - x + 1) + x * std::log(rate) + (n - x) * std::log1p(-rate);
        tail += std::exp(term);
        if (k > counted.positives + 200) break;
    }
    return tail > 0 ? std::log(tail) : -1e9;
}

}  // namespace detail

/// Finds the few regions, of one or two conditions each, where positives are dense: subgroup discovery with the measure
/// sqrt(coverage) * (rate - rate of all) (Kloesgen 1996), greedily, each next region judged on the positives not yet covered. A region
/// has at least three positives (two when there are under six), a rate of at least 65 % and of 1.5 times the rate of all; a
/// second condition has to earn its place. Exhaustive over the candidate conditions and deterministic.
[[nodiscard]] inline std::vector<LearnedRegion> learn_regions(std::span<const Example> examples, std::size_t most = 3) {
    const std::size_t words = (examples.size() + 63) / 64;
    detail::Bits everything(words);
    detail::Bits positive(words);
    std::size_t all_positives = 0;
    for (std::size_t i = 0; i < examples.size(); ++i) {
        everything[i / 64] |= std::uint64_t{1} << (i % 64);
        if (examples[i].positive) {
            positive[i / 64] |= std::uint64_t{1} << (i % 64);
            ++all_positives;
        }
    }
    if (all_positives < 2 || all_positives == examples.size()) return {};
    const std::size_t least = all_positives < 6 ? 2 : 3;
    const double base = static_cast<double>(all_positives) / static_cast<double>(examples.size());

    std::vector<detail::Candidate> candidates;
    for (Condition& condition : detail::candidate_conditions(examples)) {
        detail::Candidate candidate{.condition = std::move(condition), .holds = detail::Bits(words)};
        for (std::size_t i = 0; i < examples.size(); ++i) {
            if (candidate.condition.holds(*examples[i].params)) candidate.holds[i / 64] |= std::uint64_t{1} << (i % 64);
        }
        const auto counted = detail::count(candidate.holds, everything, positive);
        candidate.positives = counted.positives;
        if (counted.positives >= least && counted.examples < examples.size()) candidates.push_back(std::move(candidate));
    }

    const double log_single = std::log(static_cast<double>(std::max<std::size_t>(candidates.size(), 1)));
    const double log_pairs = 2 * log_single - std::log(2.0);
    std::vector<LearnedRegion> regions;
    detail::Bits open = everything;  // the examples not yet covered by a region, and all negatives
    while (regions.size() < most) {
        const auto score = [&](const detail::Counted& counted, double log_tried, double to_beat) {
            if (counted.positives < least) return 0.0;
            const double rate = static_cast<double>(counted.positives) / static_cast<double>(counted.examples);
            if (rate < 0.65 || rate < 1.5 * base) return 0.0;
            const double value = std::sqrt(static_cast<double>(counted.examples)) * (rate - base);
            return value > to_beat && detail::log_chance(counted, base) + log_tried < std::log(0.5) ? value : 0.0;
        };
        double best = 0;
        const detail::Candidate* first = nullptr;
        const detail::Candidate* second = nullptr;
        for (std::size_t a = 0; a < candidates.size(); ++a) {
            const double alone = score(detail::count(candidates[a].holds, open, positive), log_single, best / 1.1);
            if (alone * 1.1 > best) {  // one condition is worth more than two
                best = alone * 1.1;
                first = &candidates[a];
                second = nullptr;
            }
            for (std::size_t b = a + 1; b < candidates.size(); ++b) {
                const Condition& x = candidates[a].condition;
                const Condition& y = candidates[b].condition;
                // At the very best, all that it covers is positive.
                const auto reach = static_cast<double>(std::min(candidates[a].positives, candidates[b].positives));
                if (std::sqrt(reach) * (1 - base) <= best) continue;
                if (x.param == y.param && (x.relation == y.relation || x.relation == Condition::Relation::one_of)) continue;
                detail::Counted both;
                for (std::size_t i = 0; i < words; ++i) {
                    const std::uint64_t bits = candidates[a].holds[i] & candidates[b].holds[i] & open[i];
                    both.examples += static_cast<std::size_t>(std::popcount(bits));
                    both.positives += static_cast<std::size_t>(std::popcount(bits & positive[i]));
                }
                if (const double value = score(both, log_pairs, best); value > best) {
                    best = value;
                    first = &candidates[a];
                    second = &candidates[b];
                }
            }
        }
        if (!first) break;
        LearnedRegion learned{.region = {first->condition}};
        if (second) learned.region.push_back(second->condition);
        const auto counted = detail::count(first->holds, second ? second->holds : everything, positive);
        learned.examples = counted.examples;
        learned.positives = counted.positives;
        for (std::size_t i = 0; i < words; ++i)
            open[i] &= ~(first->holds[i] & (second ? second->holds[i] : ~std::uint64_t{0}) & positive[i]);
        regions.push_back(std::move(learned));
    }
    return regions;
}

}  // namespace hpo::analysis
