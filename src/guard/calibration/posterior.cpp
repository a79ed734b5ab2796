// SPDX-License-Identifier: MIT
#include "hpo/guard/calibration/posterior.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <string_view>

#include "hpo/guard/calibration/normal_tail.hpp"

namespace hpo::guard {

double ResidualForecast::quantile(double probability) const { return centre + scale * student_quantile(probability, freedom); }

void ResidualPosterior::observe(std::string_view family, double residual, bool censored) {
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

ResidualForecast ResidualPosterior::forecast(std::string_view family) const {
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

double ResidualPosterior::quantile(std::string_view family, double probability) const {
    ResidualForecast told = forecast(family);
    if (!scores_.misfit()) return told.quantile(probability);
    const double by_scores = told.centre + told.scale * *scores_.quantile(probability);
    told.freedom = std::min(told.freedom, within_freedom);  // the family's residuals are worth less if the model does not fit
    if (probability < scores_.rarest()) return std::min(by_scores, told.quantile(probability));
    if (probability > 1 - scores_.rarest()) return std::max(by_scores, told.quantile(probability));
    return by_scores;
}

void ResidualPosterior::pool() {
    double squares = prior_freedom * prior_.within * prior_.within;
    double count = prior_freedom;
    for (const auto& [name, member] : families_) {
        const double share = std::min(1.0, most_counted / std::max(member.fit.count, 1e-9));
        squares += share * member.fit.squares;
        count += share * member.fit.count;
    }
    within_ = squares / count;
    for (int step = 0; step < 8; ++step) {
        // The prior is Cauchy, written as a scale mixture of normals. It is at least as wide as the spread between the families.
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

void ResidualPosterior::judge(const ResidualForecast& told, double residual, bool censored) {
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

}  // namespace hpo::guard
