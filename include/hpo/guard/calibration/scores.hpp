// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

namespace hpo::guard {

/// The scores of the latest residuals. A score is the residual minus its predicted centre, divided by its predicted scale. The scores show
/// whether the predictions hold, and replace them if they do not.
///
/// The misfit test counts how many of the last `window` residuals lie above the predicted quantiles of 0.5, 0.8, 0.95 and 0.99. The model
/// does not fit if one of the counts is off by more than 1 plus 3.5 binomial standard deviations. A censored residual whose bound lies
/// below a quantile counts with the probability that the model gives. The test needs at least 24 residuals.
///
/// The fallback is the quantile of split conformal prediction (Vovk, Gammerman and Shafer 2005; normalised as in Lei et al. 2018, section
/// 5.2). It is the k-th smallest of n scores, k = ceil((n + 1) p). A censored score counts as larger than all others. If there is no k-th
/// score, the largest known one is used.
class ResidualScores {
public:
    static constexpr std::size_t window = 128;
    static constexpr std::array<double, 4> levels{0.5, 0.8, 0.95, 0.99};
    struct Score {
        double score = 0;
        bool censored = false;
        /// For each level, the probability that the residual lies above its quantile.
        std::array<double, levels.size()> above{};
    };

    void add(const Score& score);
    void clear() {
        scores_.clear();
        next_ = 0;
    }

    [[nodiscard]] bool misfit() const;

    /// The smallest tail probability for which the scores have a quantile.
    [[nodiscard]] double rarest() const { return 1 / static_cast<double>(scores_.size() + 1); }
    /// The conformal quantile of the scores. Returns nullopt if there are none.
    [[nodiscard]] std::optional<double> quantile(double probability) const;

private:
    std::vector<Score> scores_;
    std::size_t next_ = 0;
};

}  // namespace hpo::guard
