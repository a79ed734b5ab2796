// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

namespace hpo::memory {

/// The latest residuals, each less what was predicted for it and over the spread that was predicted: whether the predictions hold, and
/// what to say where they do not.
///
/// The misfit test: of the last `window` predictions, as many residuals should lie above the predicted quantiles of 0.5, 0.8, 0.95 and
/// 0.99 as these say. Where one of the counts is off by more than 3.5 binomial standard deviations and 1, the model does not fit. A
/// censored residual whose bound lies below a quantile counts as what the model expects of it. 24 residuals at least.
///
/// The fallback is the quantile of split conformal prediction (Vovk, Gammerman and Shafer 2005; normalised as in Lei et al. 2018,
/// section 5.2) over these scores: the k-th smallest of n, k = ceil((n + 1) p). Censored ones count as larger than all. Where that leaves
/// none, the largest that is known stands for it.
class ResidualScores {
public:
    static constexpr std::size_t window = 128;
    static constexpr std::array<double, 4> levels{0.5, 0.8, 0.95, 0.99};
    struct Score {
        double score = 0;
        bool censored = false;
        /// For each level, the probability that the residual lies above that quantile.
        std::array<double, levels.size()> above{};
    };

    void add(const Score& score);
    void clear() {
        scores_.clear();
        next_ = 0;
    }

    [[nodiscard]] bool misfit() const;

    /// The least probability that the scores can tell the quantile of.
    [[nodiscard]] double rarest() const { return 1 / static_cast<double>(scores_.size() + 1); }
    /// The conformal quantile of the scores; nothing when there are none.
    [[nodiscard]] std::optional<double> quantile(double probability) const;

private:
    std::vector<Score> scores_;
    std::size_t next_ = 0;
};

}  // namespace hpo::memory

#ifndef HPO_COMPILED
#include "hpo/memory/impl/residual_scores_inl.hpp"
#endif
