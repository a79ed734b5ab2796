// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hpo/base/normal_quantile.hpp"
#include "hpo/core/seed.hpp"
#include "hpo/guard/calibration/posterior.hpp"

namespace hpo::tests {

using guard::ResidualPosterior;
using guard::ResidualPrior;

inline constexpr ResidualPrior tight{};                                             // what calibrated believes of dry runs
inline constexpr ResidualPrior wide{.centre = 0.2, .between = 0.1, .within = 0.1};  // and of the formula

/// Predictions that are off: family f's true need is predicted / bias * exp(0.15 z_f + 0.1 e), z and e standard normal, e another
/// for each configuration and, with `heavy_tails`, Student's with 3 degrees. With `censored` the device's capacity is another for each
/// configuration, independent of its need, so that 30 % end out of memory and only tell that they need more.
struct Generator {
    double bias = 1;
    bool censored = false;
    bool bounds_are_observations = false;  ///< what must not be done
    bool heavy_tails = false;
    double step = 0;   ///< log of a change after half of the time
    double slope = 0;  ///< log of a drift over the whole time
    Rng rng{0};
    std::vector<double> centres{};

    double normal() { return normal_quantile(std::max(rng.uniform(), 1e-300)); }
    double centre(std::size_t family) {
        while (centres.size() <= family) centres.push_back(-std::log(bias) + 0.15 * normal());
        return centres[family];
    }
    /// At `time` between 0 and 1.
    double residual(std::size_t family, double time) {
        double noise = normal();
        if (heavy_tails) noise /= std::sqrt((std::pow(normal(), 2) + std::pow(normal(), 2) + std::pow(normal(), 2)) / 3);
        return centre(family) + 0.1 * noise + slope * time + (time > 0.5 ? step : 0);
    }
    void show(ResidualPosterior& posterior, std::size_t family, double time, double residual) {
        // A normal of variance 2 is above 0.74 with 30 %.
        const double room = centre(family) + slope * time + (time > 0.5 ? step : 0) + 0.1 * (0.74 + normal());
        const bool refused = censored && residual > room;
        ++shown;
        refusals += refused ? 1 : 0;
        posterior.observe(name(family), refused ? room : residual, refused && !bounds_are_observations);
    }
    static std::string name(std::size_t family) { return std::string{"family "}.append(std::to_string(family)); }

    double shown = 0;
    double refusals = 0;
};

/// Shares of residuals at or below the quantiles of `levels`.
struct Coverage {
    static constexpr std::array<double, 4> levels{0.5, 0.8, 0.95, 0.99};
    std::array<double, levels.size()> below{};
    double count = 0;
    double shown = 0;
    double refusals = 0;

    void add(const ResidualPosterior& posterior, std::size_t family, double residual) {
        for (std::size_t i = 0; i < levels.size(); ++i) {
            below[i] += residual <= posterior.quantile(Generator::name(family), levels[i]) ? 1 : 0;
        }
        count += 1;
    }
    void add(const Generator& generator) {
        shown += generator.shown;
        refusals += generator.refusals;
    }
    [[nodiscard]] double share(std::size_t level) const { return below[level] / count; }
};

/// Seeds, from the first.
struct Seeds {
    std::uint64_t first = 0;
    std::uint64_t count = 40;
};

/// 240 residuals of 12 families, then one each of 40 families that were never seen; for each seed.
[[nodiscard]] inline Coverage of_unseen_families(const ResidualPrior& prior, const Generator& kind, const Seeds& seeds = {}) {
    Coverage coverage;
    for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        Generator generator = kind;
        generator.rng = Seed{seed}.derive("coverage").rng();
        ResidualPosterior posterior{prior, 60};
        for (int i = 0; i < 240; ++i) {
            const auto family = static_cast<std::size_t>(generator.rng.below(12));
            generator.show(posterior, family, 0, generator.residual(family, 0));
        }
        for (std::size_t family = 12; family < 52; ++family) coverage.add(posterior, family, generator.residual(family, 0));
        coverage.add(generator);
    }
    return coverage;
}

/// 600 residuals, each predicted before it is shown; every tenth is of a family that was never seen. Those after 100 count.
[[nodiscard]] inline Coverage of_a_stream(const ResidualPrior& prior, const Generator& kind,
                                          const Seeds& seeds = {.first = 0, .count = 12}) {
    Coverage coverage;
    for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
        Generator generator = kind;
        generator.rng = Seed{seed}.derive("stream").rng();
        ResidualPosterior posterior{prior, 60};
        for (int i = 0; i < 600; ++i) {
            const auto family = i % 10 == 9 ? static_cast<std::size_t>(12 + i / 10) : static_cast<std::size_t>(generator.rng.below(12));
            const double time = i / 600.0;
            const double residual = generator.residual(family, time);
            if (i >= 100) coverage.add(posterior, family, residual);
            generator.show(posterior, family, time, residual);
        }
        coverage.add(generator);
    }
    return coverage;
}

}  // namespace hpo::tests
