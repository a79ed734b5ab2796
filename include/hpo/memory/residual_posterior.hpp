// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>

#include "hpo/memory/normal_tail.hpp"
#include "hpo/memory/residual_family.hpp"
#include "hpo/memory/residual_scores.hpp"

namespace hpo::memory {

/// How far a kind of prediction is thought to be off before anything was measured, as standard deviations of log(true need / predicted).
/// The standard is for predictions that run the trainer's own code.
struct ResidualPrior {
    double centre = 0.03;   ///< common to all families
    double between = 0.02;  ///< of families about the common centre
    double within = 0.02;   ///< of one family's configurations
};

/// A residual's predicted distribution: Student's.
struct ResidualForecast {
    double centre = 0;
    double scale = 1;
    double freedom = 3;
    double within_share = 1;  ///< of the scale's square: what configurations of the family differ by
    [[nodiscard]] double quantile(double probability) const { return centre + scale * student_quantile(probability, freedom); }
};

/// The posterior of log(true need / predicted need) for one kind of prediction on one kind of device, partially pooled across families:
///
///     residual of family f ~ normal(m_f, v_f),   m_f ~ normal(m, t),   v_f ~ inverse gamma around v
///
/// m, t and v are found by empirical Bayes, each with a weak prior (Gelman et al., Bayesian Data Analysis, chapter 5.4; the prior of m is
/// Cauchy, so that a prediction that is wrong by a constant factor is believed after a few trials). A family nobody has seen is
/// predicted from m, t and v; one that was seen often by itself. Forecasts are Student's, their degrees of freedom Satterthwaite's
/// (1946) for the two variances. Where the misfit test fails, quantiles are the conformal ones (residual_scores.hpp); what is rarer than
/// these can tell is Student's with a few degrees of freedom, where that lies further out.
///
/// Drift: a shift common to all families follows what forecasts miss, as a local level does in a Kalman filter's steady state; each
/// residual leaves the earlier ones of its family the share 1 - 1 / memory; and when a two-sided CUSUM of the scores (Page 1954; reference
/// 0.5, decision 7 standard deviations) finds a change, the shift is learned anew and each family is left with ten residuals' worth.
///
/// A fold: the same residuals in the same order give the same state. An observation is O(families), whatever was seen before.
/// Thread safety: none.
class ResidualPosterior {
public:
    /// `memory`: residuals of a family that count, about.
    ResidualPosterior(const ResidualPrior& prior, double memory) : prior_{prior}, keep_{1 - 1 / memory} { pool(); }

    /// A residual of `family`, or with `censored` a bound that it is above of.
    void observe(std::string_view family, double residual, bool censored) {
        const ResidualForecast told = forecast(family);
        if (++seen_ > warm_up) judge(told, residual, censored);
        residual -= shift_;
        auto found = families_.find(family);
        if (found == families_.end()) found = families_.emplace(family, Member{}).first;
        Member& member = found->second;
        member.residuals.add(residual, censored, keep_);
        member.fit = member.residuals.fit({centre_, between_, within_});
        pool();
        member.fit = member.residuals.fit({centre_, between_, within_});
    }

    [[nodiscard]] ResidualForecast forecast(std::string_view family) const {
        const auto found = families_.find(family);
        const double information = found == families_.end() ? 0 : found->second.fit.information / found->second.fit.variance;
        const double variance = found == families_.end() ? within_ : found->second.fit.variance;
        const double freedom = within_freedom + (found == families_.end() ? 0 : found->second.fit.information);
        const double precision = 1 / between_ + information;
        const double pooled = 1 / between_ / precision;  // weight of the common centre
        ResidualForecast forecast;
        forecast.centre = shift_ + pooled * centre_ + (found == families_.end() ? 0 : (1 - pooled) * found->second.fit.centre);
        const double of_centre = 1 / precision + pooled * pooled * centre_variance_;
        const double sum = of_centre + variance * (1 + gain_ / 2);
        forecast.scale = std::sqrt(sum);
        forecast.within_share = variance / sum;
        forecast.freedom = sum * sum / (of_centre * of_centre / between_freedom_ + variance * variance / freedom);
        return forecast;
    }

    /// What the next residual of `family` is at most with this probability.
    [[nodiscard]] double quantile(std::string_view family, double probability) const {
        ResidualForecast told = forecast(family);
        if (!scores_.misfit()) return told.quantile(probability);
        const double by_scores = told.centre + told.scale * *scores_.quantile(probability);
        told.freedom = std::min(told.freedom, within_freedom);  // the family's residuals tell less than they would if the model fitted
        if (probability < scores_.rarest()) return std::min(by_scores, told.quantile(probability));
        if (probability > 1 - scores_.rarest()) return std::max(by_scores, told.quantile(probability));
        return by_scores;
    }
    [[nodiscard]] bool misfit() const { return scores_.misfit(); }
    /// Times that a change was found.
    [[nodiscard]] int changes() const noexcept { return changes_; }

private:
    static constexpr double within_freedom = 8;  ///< observations that the common variance within families stands for
    static constexpr double prior_freedom = 1;   ///< families, and observations, that the priors of t and v stand for
    static constexpr double steady_gain = 0.08;  ///< share of a miss that the common shift takes
    static constexpr double restart_gain = 0.5;  ///< the same after a change; then as of a mean, 1/3, 1/4, ...
    static constexpr double decision = 7;        ///< of the CUSUM, in standard deviations
    static constexpr int warm_up = 10;           ///< residuals before which nothing can have changed
    static constexpr double kept_after_change = 10;
    static constexpr double most_counted = 20;  ///< observations of one family for the common variance

    struct Member {
        ResidualFamily residuals;
        ResidualFamily::Fit fit;
    };

    /// The common centre and the two variances, from the families' fits.
    void pool() {
        double squares = prior_freedom * prior_.within * prior_.within;
        double count = prior_freedom;
        for (const auto& [name, member] : families_) {
            const double share = std::min(1.0, most_counted / std::max(member.fit.count, 1e-9));
            squares += share * member.fit.squares;
            count += share * member.fit.count;
        }
        within_ = squares / count;
        for (int step = 0; step < 8; ++step) {
            // Cauchy, as a scale mixture of normals, and no narrower than the families lie apart.
            double weights = 2 / (prior_.centre * prior_.centre + between_ + centre_ * centre_);
            double sum = 0;
            for (const auto& [name, member] : families_) {
                if (!(member.fit.information > 1e-6)) continue;
                const double weight = 1 / (between_ + member.fit.variance / member.fit.information);
                weights += weight;
                sum += weight * member.fit.centre;
            }
            centre_ = sum / weights;
            centre_variance_ = 1 / weights;
            double spread = prior_freedom * prior_.between * prior_.between;
            double informed = 0;
            double families = 0;
            for (const auto& [name, member] : families_) {
                if (!(member.fit.information > 1e-6)) continue;
                const double precision = 1 / between_ + member.fit.information / member.fit.variance;
                const double pooled = 1 / between_ / precision;
                const double off = (1 - pooled) * (member.fit.centre - centre_);
                spread += off * off + 1 / precision + pooled * pooled * centre_variance_;
                informed += 1 - pooled;
                families += 1;
            }
            between_ = spread / (prior_freedom + families);
            between_freedom_ = prior_freedom + informed;
        }
    }

    /// Holds a residual against what was forecast for it: the scores, and whether something has changed.
    void judge(const ResidualForecast& told, double residual, bool censored) {
        const double z = (residual - told.centre) / told.scale;
        ResidualScores::Score score{z, censored, {}};
        const double beyond = 0.5 * std::erfc(z / std::numbers::sqrt2);
        for (std::size_t level = 0; level < ResidualScores::levels.size(); ++level) {
            const double p = ResidualScores::levels[level];
            const bool above = z > student_quantile(p, told.freedom);
            score.above[level] = above ? 1 : censored ? std::min(1.0, (1 - p) / std::max(beyond, 1 - p)) : 0;
        }
        scores_.add(score);
        const double step = std::clamp(censored ? normal_hazard(std::min(z, 3.0)) : z, -3.0, 3.0);
        gain_ = std::max(steady_gain, gain_ / (1 + gain_));
        shift_ += gain_ * told.within_share * step * told.scale;
        rise_ = std::max(0.0, rise_ + step - 0.5);
        fall_ = std::max(0.0, fall_ - step - 0.5);
        if (std::max(rise_, fall_) < decision) return;
        rise_ = fall_ = 0;
        ++changes_;
        scores_.clear();
        gain_ = restart_gain;
        for (auto& [name, member] : families_) {
            member.residuals.fade(1, kept_after_change);
            member.fit = member.residuals.fit({centre_, between_, within_});
        }
    }

    ResidualPrior prior_;
    double keep_;
    std::map<std::string, Member, std::less<>> families_;
    double centre_ = 0;
    double centre_variance_ = 1;
    double between_ = prior_.between * prior_.between;
    double within_ = prior_.within * prior_.within;
    double between_freedom_ = prior_freedom;
    ResidualScores scores_;
    double rise_ = 0;
    double fall_ = 0;
    double shift_ = 0;  ///< common to all families; their residuals are kept without it
    double gain_ = steady_gain;
    int changes_ = 0;
    int seen_ = 0;
};

}  // namespace hpo::memory
