// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "hpo/base/error.hpp"
#include "hpo/core/field.hpp"
#include "hpo/sampler/concept.hpp"
#include "hpo/sampler/tried_configurations.hpp"

namespace hpo::sampler {

/// Tries every configuration of a finite space once, in an order that the study's seed chooses. The study ends when all were tried. Refuses
/// a parameter that has no step, or more than 100,000 values: Grid takes some of them.
///
/// Conditional spaces are followed into each branch. A trial that failed, and a proposal that was refused, are not tried again. Trials that
/// other runs have begun count, too. Costs as Grid. Thread safety: none.
class BruteForce {
public:
    static constexpr std::string_view name = "brute_force";
    static constexpr std::string_view summary = "tries every configuration of a finite space once, and ends the study then";
    using Config = NoConfig;
    static constexpr void fields(auto /*field*/) {}

    BruteForce() : BruteForce{Config{}} {}
    explicit BruteForce(Config /*config*/)
        : tried_{[](const Distribution& distribution) { return candidate_values(distribution, std::nullopt); }} {}

    void require_parameter(const std::string& parameter, const Distribution& distribution) const {
        if (!candidate_values(distribution, std::nullopt).empty()) return;
        throw Error{Errc::usage, "sampler brute_force: parameter '" + parameter + "' is " + describe(distribution) +
                                     "; expected a step, and at most " + std::to_string(most_candidates) +
                                     " values, because every one is tried; sampler grid takes some of them"};
    }
    [[nodiscard]] double suggest(const Ask& ask) {
        require_parameter(ask.name, ask.distribution);
        return tried_.draw(ask);
    }
    [[nodiscard]] bool all_tried(const TrialContext& trial) { return tried_.all_tried(trial); }

private:
    TriedConfigurations tried_;
};

static_assert(ExhaustiveSampler<BruteForce> && Configurable<BruteForce>);

}  // namespace hpo::sampler
