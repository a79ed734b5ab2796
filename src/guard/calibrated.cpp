// SPDX-License-Identifier: MIT
#include "hpo/guard/calibrated.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "guard/calibration/measured_before.hpp"
#include "guard/calibration/risk_budget.hpp"
#include "hpo/base/normal_quantile.hpp"
#include "hpo/guard/predicted_estimate.hpp"

namespace hpo::guard {

Calibrated::Calibrated(Config config)
    : risk_{config.risk},
      evidence_{evidence_of(config.base)},
      residuals_{prior_of, static_cast<double>(config.memory)},
      carries_{config.carry},
      ventures_{config.venture} {
    if (!(config.risk >= 1e-6 && config.risk <= 0.5)) throw bad_value("risk", display_text(config.risk), "0.000001 to 0.5");
    require_at_least<2>("memory", config.memory);
}

Estimate Calibrated::estimate(const MemoryQuery& query) const {
    Estimate estimate = query.prediction ? bare_estimate(*query.prediction) : formula_.estimate(query);
    std::optional<LearnedBase> learned;
    if (!estimate.need && !query.profile && query.capacity_bytes) {
        learned = learned_base(query);
        if (learned->estimate.source != learned_source) return learned->estimate;
        estimate = learned->estimate;
    }
    if (!estimate.need) return estimate;
    const ResidualGroup group = residual_group(estimate.source, query.runs_on, query.params, query.plan);
    const ResidualPosterior& residuals = residuals_.after(query.history, group.pool);
    const auto quantile_of = [&](const Estimate& of, double risk) {
        return std::clamp(log_ratio_of(of, residuals.quantile(group.family, 1 - risk)), -most_log, most_log);
    };
    const auto quantile = [&](double risk) { return quantile_of(estimate, risk); };
    const auto bounded = [](double bytes) { return static_cast<std::int64_t>(std::min(bytes, 0x1.0p62)); };
    const auto with_margin = [&](const Estimate& of, double risk) {
        return bounded(std::ceil(static_cast<double>(*of.need) * std::exp(quantile_of(of, risk))));
    };

    const std::int64_t bare = *estimate.need;
    double risk = learned ? learned_risk() : risk_;
    estimate.need = with_margin(estimate, risk);
    if (learned) {
        for (const Estimate& larger : learned->larger) estimate.need = std::min(*estimate.need, with_margin(larger, risk));
    }
    if (query.smallest_plan && query.capacity_bytes && bare > 0 && *estimate.need > *query.capacity_bytes) {
        const double room = std::log(static_cast<double>(*query.capacity_bytes) / static_cast<double>(bare));
        const auto known = measured_before(query.history, {group, query.plan, bare});
        if (known && log_ratio_of(estimate, *known) + repeats_within <= room) {
            estimate.need = query.capacity_bytes;
        } else if (learned) {
            if (learned_.fitted_larger(query)) {
                estimate.need = query.capacity_bytes;
            } else if (learned_.is_far_below_failed(query)) {
                return nothing_known(query);
            } else if (learned->is_untried || learned->excess_risk <= allowed_excess_risk(query.history)) {
                estimate.need = query.capacity_bytes;
                risk = std::max(risk, learned->excess_risk);
            }
        } else if (const double most = ventures_ ? std::min(most_risk, unspent_risk(query.history, risk_)) : 0;
                   most > risk_ && quantile(most) <= room) {
            double too_little = risk_;
            risk = most;
            while (risk - too_little > 1e-3) {  // the smallest risk at which it fits
                const double middle = (too_little + risk) / 2;
                (quantile(middle) <= room ? risk : too_little) = middle;
            }
            estimate.need = query.capacity_bytes;
        }
    }
    if (learned) {  // few attempts that disagree may allow any multiple of the device; only the median is told by them
        const std::int64_t median = estimate.parts.front().bytes, twice = 2 * std::min(*query.capacity_bytes, std::int64_t{1} << 60);
        estimate.need = std::min(*estimate.need, std::max(median, twice));
    }
    const std::int64_t margin = *estimate.need - bare;
    if (estimate.comfort) {
        const double comfort = static_cast<double>(*estimate.comfort) + static_cast<double>(margin);
        estimate.comfort = std::max(*estimate.need, bounded(comfort));
    }
    std::erase_if(estimate.parts, [](const EstimatePart& part) { return part.name == margin_part; });
    if (estimate.parts.empty()) estimate.parts.push_back({"predicted", bare});
    estimate.parts.push_back({margin_part, margin});  // below 0 if predictions are too high
    estimate.confidence = 1 - risk;
    return estimate;
}

Estimate Calibrated::nothing_known(const MemoryQuery& query) {
    Estimate whole_device;
    whole_device.need = query.capacity_bytes;
    whole_device.source = alone_source;
    return whole_device;
}

Calibrated::LearnedBase Calibrated::learned_base(const MemoryQuery& query) const {
    const LearnedPeaks::Answer answer = learned_.ask(query);
    LearnedBase base;
    if (answer.knowledge == LearnedPeaks::Knowledge::unmeasured) {
        base.estimate.source = Formula::name;  // which knows nothing either
        return base;
    }
    base.estimate = nothing_known(query);
    if (answer.knowledge == LearnedPeaks::Knowledge::too_little) return base;
    base.estimate = estimate_of(answer.log_bytes);
    const auto excess_risk = [&](const NormalBelief& belief) {
        const double room = std::log(static_cast<double>(*query.capacity_bytes)) - belief.mean;
        return 0.5 * std::erfc(room / std::sqrt(2 * belief.variance));
    };
    base.excess_risk = excess_risk(answer.log_bytes);
    for (const NormalBelief& larger : answer.larger) {
        base.larger.push_back(estimate_of(larger));
        base.excess_risk = std::min(base.excess_risk, excess_risk(larger));
    }
    // Another version of the program may have taken more: it must be tried before anything is refused.
    base.is_untried = answer.is_untried;
    if (answer.is_untried) base.excess_risk = std::min(base.excess_risk, risk_while_learning);
    return base;
}

Estimate Calibrated::estimate_of(const NormalBelief& log_bytes) const {
    constexpr double most_bytes = 0x1.0p62;
    const double reach = normal_quantile(1 - risk_) * std::sqrt(log_bytes.variance);
    const auto median = static_cast<std::int64_t>(std::min(std::exp(log_bytes.mean), most_bytes));
    Estimate estimate;
    estimate.need = static_cast<std::int64_t>(std::min(std::exp(log_bytes.mean + reach), most_bytes));
    estimate.source = learned_source;
    estimate.parts = {{"predicted", median}, {uncertainty_part, *estimate.need - median}};
    return estimate;
}

double Calibrated::allowed_excess_risk(const History& history) const {
    const double ventured = learned_risk();
    std::size_t attempts = 0;
    double left = 0;
    std::optional<Time> latest;
    for (const Trial& trial : history.trials) {
        for (const Attempt& attempt : trial.attempts) {
            if (attempt.started && (!latest || *attempt.started > *latest)) latest = attempt.started;
            if (!attempt.estimate || ++attempts <= learning_attempts) continue;
            left += ventured;
            if (!attempt.outcome) left -= 1 - attempt.estimate->confidence;
            else if (least_need(attempt)) left -= 1;
            else if (is_venture(attempt, relearns(*attempt.estimate) ? ventured : risk_)) left -= 1 - attempt.estimate->confidence;
        }
    }
    if (attempts < learning_attempts)  // what was decided before waits for memory, and some of it starts later
        return std::max(ventured, risk_while_learning * (1 - static_cast<double>(attempts) / learning_attempts));
    if (!ventures_) return ventured;
    const auto is_in_a_row = [&](const Rejection& rejection) { return !latest || rejection.at > *latest; };
    const auto in_a_row = std::ranges::count_if(history.rejections, is_in_a_row);
    return std::clamp(std::max(left, risk_of_refusal * static_cast<double>(in_a_row)), ventured, risk_while_learning);
}

Evidence Calibrated::evidence_of(const std::string& base) {
    if (base == "virtual_card") return Evidence::virtual_card;
    if (base == "dry_run") return Evidence::dry_run;
    if (base == "probe") return Evidence::probe;
    if (base == Formula::name) return Evidence::shape;
    throw bad_value("base", "'" + base + "'", "virtual_card, dry_run, probe or formula");
}

}  // namespace hpo::guard
