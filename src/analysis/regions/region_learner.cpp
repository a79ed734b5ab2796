// SPDX-License-Identifier: MIT
#include "hpo/analysis/regions/region_learner.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/memory_need/memory_axis.hpp"
#include "analysis/memory_need/param_names.hpp"

namespace hpo::analysis::detail {

/// Finds the trials for which a condition holds. Conditions on the same parameter should follow each other, since its values are read once.
class ConditionBits {
public:
    explicit ConditionBits(std::vector<const ParamSet*> trials) : trials_{std::move(trials)} {}

    [[nodiscard]] Bits of(const Condition& condition) {
        if (condition.param != param_) read(condition.param);
        Bits bits((trials_.size() + 63) / 64);
        for (std::size_t i = 0; i < trials_.size(); ++i) {
            if (holds(condition, i)) bits[i / 64] |= std::uint64_t{1} << (i % 64);
        }
        return bits;
    }

private:
    void read(const std::string& param) {
        param_ = param;
        values_.clear();
        numbers_.clear();
        for (const ParamSet* params : trials_) {
            values_.push_back(params->value(param));
            numbers_.push_back(params->number(param).value_or(std::numeric_limits<double>::quiet_NaN()));
        }
    }
    [[nodiscard]] bool holds(const Condition& condition, std::size_t i) const {
        if (condition.relation == Condition::Relation::at_least) return numbers_[i] >= condition.bound;
        if (condition.relation == Condition::Relation::at_most) return numbers_[i] <= condition.bound;
        return values_[i] && std::ranges::find(condition.choices, *values_[i]) != condition.choices.end();
    }

    std::vector<const ParamSet*> trials_;
    std::string param_;
    std::vector<std::optional<Value>> values_;
    std::vector<double> numbers_;  ///< NaN if there is none: it meets no bound
};

Bits both(const Bits& a, const Bits& b) {
    Bits bits(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) bits[i] = a[i] & b[i];
    return bits;
}

[[nodiscard]] bool share_one(const Bits& a, const Bits& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
        if ((a[i] & b[i]) != 0) return true;
    }
    return false;
}

/// Whether adding the condition can make a region narrower.
[[nodiscard]] bool may_join(const Condition& x, const Condition& y) {
    return x.param != y.param ||
           (x.relation != y.relation && x.relation != Condition::Relation::one_of && y.relation != Condition::Relation::one_of);
}

Counted count(const Bits& a, const Bits& b, const Bits& positive) {
    Counted counted;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const std::uint64_t both = a[i] & b[i];
        counted.examples += static_cast<std::size_t>(std::popcount(both));
        counted.positives += static_cast<std::size_t>(std::popcount(both & positive[i]));
    }
    return counted;
}

/// The number with the fewest digits in [low, high).
[[nodiscard]] double shortest_between(double low, double high) {
    for (int digits = 1; digits < 17; ++digits) {
        const double scale = std::pow(10.0, digits - 1 - std::floor(std::log10(std::max(std::fabs(low), std::fabs(high)))));
        if (!std::isfinite(scale) || scale <= 0) break;
        double found = 0;
        const std::string text = number_text(std::ceil(low * scale) / scale);  // without what a division leaves behind
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), found);
        if (error == std::errc{} && end == text.data() + text.size() && found >= low && found < high) return found;
    }
    return low;
}

std::vector<Condition> candidate_conditions(std::span<const Example> examples) {
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
            if (const auto* real = std::get_if<double>(&value)) {
                numbers.insert(*real);
                whole = false;
            } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
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
            const double low = sorted[at - 1];
            const double high = sorted[at];
            conditions.push_back({.relation = Condition::Relation::at_least,
                                  .param = name,
                                  .bound = whole ? high : -shortest_between(-high, -low),
                                  .whole = whole,
                                  .choices = {}});
            conditions.push_back({.relation = Condition::Relation::at_most,
                                  .param = name,
                                  .bound = whole ? low : shortest_between(low, high),
                                  .whole = whole,
                                  .choices = {}});
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

/// The logarithm of the probability that `positives` or more of `examples` are positive, if each is positive with probability `rate`.
[[nodiscard]] double log_chance(const Counted& counted, double rate) {
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

}  // namespace hpo::analysis::detail

namespace hpo::analysis {

std::vector<LearnedRegion> learn_regions(std::span<const Example> examples, std::span<const ParamSet* const> kept, double by_chance) {
    constexpr std::size_t most = 3;
    using detail::Bits;
    const std::size_t words = (examples.size() + 63) / 64;
    Bits everything(words);
    Bits positive(words);
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

    std::vector<const ParamSet*> params;
    for (const Example& example : examples) params.push_back(example.params);
    detail::ConditionBits among_examples{std::move(params)};
    detail::ConditionBits among_kept{{kept.begin(), kept.end()}};
    std::vector<detail::Candidate> candidates;
    for (Condition& condition : detail::candidate_conditions(examples)) {
        // Of a size no smaller value needs more, whatever chance shows.
        if (condition.relation == Condition::Relation::at_most && direction_by_name(condition.param) > 0) continue;
        detail::Candidate candidate{.condition = std::move(condition), .holds = {}, .kept = {}};
        candidate.holds = among_examples.of(candidate.condition);
        candidate.kept = among_kept.of(candidate.condition);
        const auto counted = detail::count(candidate.holds, everything, positive);
        candidate.positives = counted.positives;
        if (counted.positives >= least && counted.examples < examples.size()) candidates.push_back(std::move(candidate));
    }

    struct Found {
        double value = 0;  ///< the measure, higher for fewer conditions
        std::vector<const detail::Candidate*> conditions;
    };
    constexpr double handicap = 1.1;  // for each further condition
    constexpr std::size_t most_pairs = 32;
    const double log_single = std::log(static_cast<double>(std::max<std::size_t>(candidates.size(), 1)));
    const double log_tried[] = {log_single, 2 * log_single - std::log(2.0), 3 * log_single - std::log(6.0)};
    std::vector<LearnedRegion> regions;
    Bits open = everything;  // positives that no region covers yet, and all negatives
    while (regions.size() < most) {
        const auto score = [&](const detail::Counted& counted) {
            if (counted.positives < least) return 0.0;
            const double rate = static_cast<double>(counted.positives) / static_cast<double>(counted.examples);
            return std::sqrt(static_cast<double>(counted.examples)) * (rate - base);
        };
        const auto is_dense = [&](const detail::Counted& counted, std::size_t conditions) {
            if (counted.positives < least) return false;
            const double rate = static_cast<double>(counted.positives) / static_cast<double>(counted.examples);
            if (rate < 0.65 || rate < 1.5 * base) return false;
            return detail::log_chance(counted, base) + log_tried[conditions - 1] < std::log(by_chance);
        };
        Found best;
        const auto consider = [&](double value, const detail::Counted& counted, const std::vector<const detail::Candidate*>& conditions) {
            if (value > best.value && is_dense(counted, conditions.size())) best = {.value = value, .conditions = conditions};
        };
        std::vector<Found> pairs;  // the best pairs, in order, whether or not they are dense
        for (std::size_t a = 0; a < candidates.size(); ++a) {
            const auto& x = candidates[a];
            const auto alone = detail::count(x.holds, open, positive);
            if (!detail::share_one(x.kept, x.kept)) consider(score(alone) * handicap * handicap, alone, {&x});
            for (std::size_t b = a + 1; b < candidates.size(); ++b) {
                const auto& y = candidates[b];
                // In the best case, all examples that it covers are positive.
                const double reach = std::sqrt(static_cast<double>(std::min(x.positives, y.positives))) * (1 - base);
                const double to_beat = pairs.size() < most_pairs ? 0.0 : pairs.back().value;
                if (reach * handicap <= std::min(best.value, to_beat) || !detail::may_join(x.condition, y.condition)) continue;
                detail::Counted both;
                for (std::size_t i = 0; i < words; ++i) {
                    const std::uint64_t bits = x.holds[i] & y.holds[i] & open[i];
                    both.examples += static_cast<std::size_t>(std::popcount(bits));
                    both.positives += static_cast<std::size_t>(std::popcount(bits & positive[i]));
                }
                const double value = score(both) * handicap;
                if (value > best.value && !detail::share_one(x.kept, y.kept)) consider(value, both, {&x, &y});
                if (value <= to_beat) continue;
                pairs.insert(std::ranges::upper_bound(pairs, value, std::greater{}, &Found::value),
                             {.value = value, .conditions = {&x, &y}});
                if (pairs.size() > most_pairs) pairs.pop_back();
            }
        }
        for (const Found& pair : pairs) {
            const auto& x = *pair.conditions[0];
            const auto& y = *pair.conditions[1];
            const Bits held = detail::both(detail::both(x.holds, y.holds), open);
            const Bits refused = detail::both(x.kept, y.kept);
            for (const detail::Candidate& third : candidates) {
                if (!detail::may_join(x.condition, third.condition) || !detail::may_join(y.condition, third.condition)) continue;
                if (detail::share_one(refused, third.kept)) continue;
                const auto counted = detail::count(held, third.holds, positive);
                consider(score(counted), counted, {&x, &y, &third});
            }
        }
        if (best.conditions.empty()) break;
        LearnedRegion learned;
        Bits held = everything;
        for (const detail::Candidate* condition : best.conditions) {
            learned.region.push_back(condition->condition);
            held = detail::both(held, condition->holds);
        }
        const auto counted = detail::count(held, everything, positive);
        learned.examples = counted.examples;
        learned.positives = counted.positives;
        for (std::size_t i = 0; i < words; ++i) open[i] &= ~(held[i] & positive[i]);
        regions.push_back(std::move(learned));
    }
    return regions;
}

}  // namespace hpo::analysis
