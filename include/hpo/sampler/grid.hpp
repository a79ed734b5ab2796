// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "hpo/base/error.hpp"
#include "hpo/core/field.hpp"
#include "hpo/sampler/concept.hpp"
#include "hpo/sampler/tried_configurations.hpp"

namespace hpo::sampler {

/// Tries each point of a grid once, in an order that the study's seed chooses. The study ends when all were tried.
///
/// A parameter with at most `points` values has them all. Another has `points` of them, evenly spaced on its own scale, its low and its
/// high included. All choices of a categorical parameter are taken. Conditional spaces are followed into each branch. A trial that failed,
/// and a proposal that was refused, are not tried again. Trials that other runs have begun count, too.
///
/// A draw costs O(values of the parameter), and O(parameters) for each trial since the last draw. Thread safety: none.
class Grid {
public:
    static constexpr std::string_view name = "grid";
    static constexpr std::string_view summary = "tries each point of a grid once, and ends the study then";
    struct Config {
        std::int64_t points = 5;
    };
    static constexpr void fields(auto field) { field("points", &Config::points, "values of a parameter that has more"); }

    Grid() : Grid{Config{}} {}
    explicit Grid(Config config)
        : tried_{[points = config.points](const Distribution& distribution) {
              return candidate_values(distribution, static_cast<std::size_t>(points));
          }} {
        require_at_least<2>("points", config.points);
    }

    [[nodiscard]] double suggest(const Ask& ask) { return tried_.draw(ask); }
    [[nodiscard]] bool all_tried(const TrialContext& trial) { return tried_.all_tried(trial); }

private:
    TriedConfigurations tried_;
};

static_assert(ExhaustiveSampler<Grid> && Configurable<Grid>);

}  // namespace hpo::sampler
