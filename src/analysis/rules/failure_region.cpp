// SPDX-License-Identifier: MIT
#include "hpo/analysis/rules/failure_region.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/memory_need/memory_axis.hpp"
#include "analysis/memory_need/name_words.hpp"

namespace hpo::analysis {

double fisher_probability(const RegionCounts& counts) {
    const auto log_choose = [](std::size_t n, std::size_t k) {
        return std::lgamma(static_cast<double>(n) + 1) - std::lgamma(static_cast<double>(k) + 1) -
               std::lgamma(static_cast<double>(n - k) + 1);
    };
    const std::size_t failed = counts.failed_inside + counts.failed_outside;
    const std::size_t all = counts.inside + counts.outside;
    const double whole = log_choose(all, failed);
    double sum = 0;
    for (std::size_t k = counts.failed_inside; k <= std::min(failed, counts.inside); ++k) {
        if (failed - k > counts.outside) continue;
        sum += std::exp(log_choose(counts.inside, k) + log_choose(counts.outside, failed - k) - whole);
    }
    return std::min(1.0, sum);
}

bool looks_like_memory(const Region& region) {
    static constexpr auto models =
        std::to_array<std::string_view>({"model", "arch", "architecture", "backbone", "encoder", "network", "net", "size", "variant"});
    return std::ranges::any_of(region, [](const Condition& condition) {
        switch (condition.relation) {
            case Condition::Relation::at_least: return direction_by_name(condition.param) > 0;
            case Condition::Relation::at_most: return divides_work(condition.param);
            case Condition::Relation::one_of: return names_one_of(condition.param, models);
        }
        return false;
    });
}

std::optional<FailureRegion> failure_region(std::span<const Example> examples, double level) {
    const std::size_t words = (examples.size() + 63) / 64;
    detail::Bits everything(words);
    detail::Bits failed(words);
    RegionCounts all;
    for (std::size_t i = 0; i < examples.size(); ++i) {
        everything[i / 64] |= std::uint64_t{1} << (i % 64);
        ++all.inside;
        if (!examples[i].positive) continue;
        failed[i / 64] |= std::uint64_t{1} << (i % 64);
        ++all.failed_inside;
    }
    if (all.failed_inside < 3 || all.failed_inside == all.inside) return std::nullopt;

    struct Tried {
        Condition condition;
        detail::Bits holds;
    };
    std::vector<Tried> singles;
    for (Condition& condition : detail::candidate_conditions(examples)) {
        const bool at_most = condition.relation == Condition::Relation::at_most;
        if (condition.relation != Condition::Relation::one_of && at_most != divides_work(condition.param)) continue;
        Tried tried{.condition = std::move(condition), .holds = detail::Bits(words)};
        for (std::size_t i = 0; i < examples.size(); ++i) {
            if (tried.condition.holds(*examples[i].params)) tried.holds[i / 64] |= std::uint64_t{1} << (i % 64);
        }
        singles.push_back(std::move(tried));
    }
    const bool pairs = singles.size() <= 400 && examples.size() <= 4000;
    const std::size_t pair_count = pairs ? singles.size() * (singles.size() - 1) / 2 : 0;
    std::optional<FailureRegion> best;
    const auto consider = [&](const detail::Counted& inside, std::size_t family, const Tried& a, const Tried* b) {
        const double rate = static_cast<double>(inside.positives) / static_cast<double>(std::max<std::size_t>(inside.examples, 1));
        const double base = static_cast<double>(all.failed_inside) / static_cast<double>(all.inside);
        // Twice the rate of all, or of more than half of them nearly all of the rest of the way.
        if (inside.positives < 3 || inside.examples == all.inside || rate < std::min(2 * base, 1 - 0.1 * (1 - base))) return;
        const RegionCounts counts{.failed_inside = inside.positives,
                                  .inside = inside.examples,
                                  .failed_outside = all.failed_inside - inside.positives,
                                  .outside = all.inside - inside.examples};
        // Half of the level is for single conditions, and half for pairs.
        const double probability = fisher_probability(counts) * static_cast<double>(family) * 2;
        if (probability > level || (best && probability >= best->probability)) return;
        best = FailureRegion{.region = {a.condition}, .counts = counts, .tried = singles.size() + pair_count, .probability = probability};
        if (b) best->region.push_back(b->condition);
    };
    for (std::size_t a = 0; a < singles.size(); ++a) {
        consider(detail::count(singles[a].holds, everything, failed), singles.size(), singles[a], nullptr);
        for (std::size_t b = a + 1; pairs && b < singles.size(); ++b) {
            const Condition& x = singles[a].condition;
            const Condition& y = singles[b].condition;
            if (x.param == y.param) continue;
            consider(detail::count(singles[a].holds, singles[b].holds, failed), pair_count, singles[a], &singles[b]);
        }
    }
    return best;
}

}  // namespace hpo::analysis
