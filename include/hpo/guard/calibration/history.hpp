// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "hpo/core/history.hpp"
#include "hpo/guard/calibration/observation.hpp"
#include "hpo/guard/calibration/posterior.hpp"

namespace hpo::guard {

/// The posteriors of all pools. They take in what other studies measured (History::other_studies), then the study's attempts in the order
/// of trial and attempt numbers.
///
/// A call continues where the last one ended. Only attempts after the first unfinished trial are taken in again at each call. If the
/// history is not a continuation of the last one, the posteriors are computed from its beginning. So the answer is always that of the whole
/// history. Thread safety: none.
class ResidualHistory {
public:
    using Prior = ResidualPrior (*)(const std::string& pool);
    ResidualHistory(Prior prior, double memory) : prior_{prior}, memory_{memory} {}

    /// The posterior of a pool's residuals after `history`. Valid until the next call.
    [[nodiscard]] const ResidualPosterior& after(const History& history, const std::string& pool);

private:
    /// Shows whether a trial is still the one that was taken in at its position.
    using Mark = std::tuple<std::int64_t, TrialState, std::optional<Time>, std::size_t, std::optional<std::int64_t>>;
    [[nodiscard]] static Mark mark_of(const Trial& trial);

    /// The same for the attempts of other studies.
    using Past = std::tuple<std::size_t, std::optional<Time>, std::optional<std::int64_t>>;
    [[nodiscard]] static Past past_of(const History& history) {
        if (history.other_studies.empty()) return {};
        return {history.other_studies.size(), history.other_studies.back().started, history.other_studies.back().peak_allocated};
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
    std::optional<ResidualPosterior> latest_;  ///< one pool's posterior that includes attempts after the first unfinished trial
    std::string study_;
    std::size_t folded_ = 0;  ///< trials that are taken in
    Mark first_;
    Mark last_;
    Past past_;
};

}  // namespace hpo::guard
