// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "hpo/base/error.hpp"
#include "hpo/core/field.hpp"
#include "hpo/sampler/concept.hpp"
#include "hpo/sampler/halton.hpp"
#include "hpo/sampler/sobol.hpp"
#include "hpo/sampler/uniform.hpp"

namespace hpo::sampler {

/// Quasi-Monte Carlo: trial n takes point n of a sequence that fills the space more evenly than chance does. Ignores history, so what else
/// runs, or has failed, has no effect on a draw.
///
/// The k-th parameter that a trial has is coordinate k. Beyond 64 parameters the coordinates begin anew, with the points in another order
/// (padding). Sobol's points are balanced after 2^m trials. A proposal that the space or a guard refused is followed by a point from far
/// later in the sequence.
class Qmc {
public:
    static constexpr std::string_view name = "qmc";
    static constexpr std::string_view summary = "takes the points of a sequence that fills the space evenly";
    struct Config {
        std::string sequence = "sobol";
        bool scramble = true;
    };
    static constexpr void fields(auto field) {
        field("sequence", &Config::sequence, "sobol or halton");
        field("scramble", &Config::scramble, "randomise the sequence by the study's seed");
    }

    Qmc() : Qmc{Config{}} {}
    explicit Qmc(Config config) : is_halton_{config.sequence == "halton"}, scramble_{config.scramble} {
        if (!is_halton_ && config.sequence != "sobol") throw bad_value("sequence", config.sequence, "sobol or halton");
    }

    [[nodiscard]] double suggest(const Ask& ask) const {
        const TrialContext& trial = ask.trial;
        const std::size_t dimension = ask.fixed.size();
        constexpr std::uint64_t stride = 0x9E3779B9;  // odd, and far beyond the number of trials
        const auto index =
            static_cast<std::uint32_t>(static_cast<std::uint64_t>(trial.number) + static_cast<std::uint64_t>(trial.proposal) * stride);
        const Coordinate at{is_halton_ ? halton(index, dimension, trial.seed) : sobol(index, dimension, trial.seed)};
        return draw_uniform(ask.distribution, ask.within, at);
    }

private:
    /// Stands for random bits: the quantile that draw_uniform takes.
    struct Coordinate {
        double value;  ///< in [0, 1)
        [[nodiscard]] double uniform() const { return value; }
        [[nodiscard]] std::uint64_t below(std::uint64_t bound) const {
            return std::min(static_cast<std::uint64_t>(value * static_cast<double>(bound)), bound - 1);
        }
    };

    [[nodiscard]] double sobol(std::uint32_t index, std::size_t dimension, Seed seed) const {
        const std::size_t round = dimension / Sobol::dimensions;
        if (round > 0) index = Sobol::scrambled(index, hash(seed.derive("order"), round));
        std::uint32_t bits = Sobol::coordinate(index, dimension % Sobol::dimensions);
        if (!scramble_) return bits * 0x1.0p-32;
        bits = Sobol::scrambled(bits, hash(seed.derive("coordinate"), dimension));
        return (bits + 0.5) * 0x1.0p-32;
    }
    [[nodiscard]] double halton(std::uint32_t index, std::size_t dimension, Seed seed) const {
        const std::size_t round = dimension / Halton::dimensions;
        if (round > 0) index = Sobol::scrambled(index, hash(seed.derive("order"), round));
        const std::size_t within = dimension % Halton::dimensions;
        return scramble_ ? Halton::scrambled(index, within, seed.derive(dimension)) : Halton::coordinate(index, within);
    }
    [[nodiscard]] static std::uint32_t hash(Seed seed, std::size_t of) { return static_cast<std::uint32_t>(seed.derive(of).value); }

    bool is_halton_;
    bool scramble_;
};

static_assert(Sampler<Qmc> && Configurable<Qmc>);

}  // namespace hpo::sampler
