// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "hpo/core/seed.hpp"

namespace hpo::sampler {

/// With which population and step size CMA-ES starts anew.
///
/// IPOP doubles the population each time (Auger and Hansen 2005). BIPOP has two kinds of starts, and takes the one that has spent fewer
/// observations so far (Hansen 2009, "Benchmarking a BI-population CMA-ES on the BBOB-2009 function testbed"). Large ones double the
/// population of the latest large one. Small ones draw a population between the first one and half of the largest, and a step size down
/// to a hundredth. They end at the latest when they have spent half of what the latest large one has. The first start of all counts as a
/// small one.
class CmaRestarts {
public:
    enum class Strategy : char { none, ipop, bipop };
    struct Start {
        std::size_t population;
        double sigma_factor;  ///< what the first step size is multiplied by
    };

    CmaRestarts() = default;
    /// `population`: of the first start.
    CmaRestarts(Strategy strategy, std::size_t population) : strategy_{strategy}, first_{population}, large_{population} {}

    /// Counts observations that the current start has spent.
    void spend(std::size_t observations) {
        spent_ += observations;
        (is_small_ ? spent_by_small_ : spent_by_large_) += observations;
    }
    [[nodiscard]] bool is_small() const noexcept { return is_small_; }
    [[nodiscard]] bool restarts() const noexcept { return strategy_ != Strategy::none; }
    /// True if the current start must end, although it has not converged.
    [[nodiscard]] bool is_spent() const noexcept { return is_small_ && latest_large_ > 0 && spent_ >= latest_large_ / 2; }

    [[nodiscard]] Start next(Rng& rng) {
        if (!is_small_) latest_large_ = spent_;
        spent_ = 0;
        is_small_ = strategy_ == Strategy::bipop && spent_by_small_ < spent_by_large_;
        if (!is_small_) return {large_ *= 2, 1};
        const double first = static_cast<double>(first_);
        const double most = std::max(1.0, static_cast<double>(large_) / 2 / first);
        const double share = rng.uniform();
        const auto population = static_cast<std::size_t>(first * std::pow(most, share * share));
        return {population, std::pow(10, -2 * rng.uniform())};
    }

private:
    Strategy strategy_ = Strategy::none;
    std::size_t first_ = 0, large_ = 0;  ///< populations: of the first start, and of the latest large one
    bool is_small_ = true;
    std::size_t spent_ = 0;  ///< by the current start
    std::size_t spent_by_small_ = 0, spent_by_large_ = 0;
    std::size_t latest_large_ = 0;  ///< what the latest large one that has ended spent
};

}  // namespace hpo::sampler
