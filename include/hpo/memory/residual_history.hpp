// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "hpo/core/history.hpp"
#include "hpo/memory/residual_observation.hpp"
#include "hpo/memory/residual_posterior.hpp"

namespace hpo::memory {

/// The posteriors of all pools, as a fold over what other studies measured (History::elsewhere), then over the study's attempts in the
/// order of trial and attempt numbers.
///
/// It goes on from where the last call ended: only what ended behind the first unfinished trial is folded anew. A history that is not a
/// continuation of the last one is folded from its beginning, so that the answer is always that of the whole history.
/// Thread safety: none.
class ResidualHistory {
public:
    using Prior = ResidualPrior (*)(const std::string& pool);
    ResidualHistory(Prior prior, double memory) : prior_{prior}, memory_{memory} {}

    /// What is known of a pool's residuals after `history`; valid until the next call.
    [[nodiscard]] const ResidualPosterior& after(const History& history, const std::string& pool);

private:
    /// What tells a folded trial from another of the same place.
    using Mark = std::tuple<std::int64_t, TrialState, std::optional<Time>, std::size_t, std::optional<std::int64_t>>;
    [[nodiscard]] static Mark mark_of(const Trial& trial);

    /// The same of what other studies measured.
    using Past = std::tuple<std::size_t, std::optional<Time>, std::optional<std::int64_t>>;
    [[nodiscard]] static Past past_of(const History& history) {
        if (history.elsewhere.empty()) return {};
        return {history.elsewhere.size(), history.elsewhere.back().started, history.elsewhere.back().peak_allocated};
    }

    template <class Visit>
    static void each_residual(const Trial& trial, const Visit& visit);
    [[nodiscard]] ResidualPosterior& posterior(const std::string& pool) {
        return posteriors_.try_emplace(pool, prior_(pool), memory_).first->second;
    }

    void advance(const History& history);
    void observe(const Residual& residual) {
        posterior(residual.group.pool).observe(residual.group.family, residual.log_ratio, residual.censored);
    }

    Prior prior_;
    double memory_;
    std::map<std::string, ResidualPosterior> posteriors_;
    std::optional<ResidualPosterior> latest_;  ///< with what ended after the beginning of the first unfinished trial
    std::string study_;
    std::size_t folded_ = 0;  ///< trials
    Mark first_;
    Mark last_;
    Past past_;
};

}  // namespace hpo::memory

#ifndef HPO_COMPILED
#include "hpo/memory/impl/residual_history_inl.hpp"
#endif
