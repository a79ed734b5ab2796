// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "hpo/core/field.hpp"
#include "hpo/memory/concept.hpp"
#include "hpo/memory/formula.hpp"
#include "hpo/memory/measured_before.hpp"
#include "hpo/memory/predicted_estimate.hpp"
#include "hpo/memory/residual_history.hpp"
#include "hpo/memory/risk_budget.hpp"

namespace hpo::memory {

/// Learns from every attempt how far predictions are off, and answers the need that is enough with probability 1 - risk:
///
///     need = predicted need * exp(the (1 - risk) quantile of log(true need / predicted need))
///
/// The quantile is the posterior's (residual_posterior.hpp) after all finished attempts of the study, those that ran out of memory
/// being right-censored observations. A prediction's own uncertainty is left out: the posterior has a prior by source, and then knows
/// better.
///
/// Measured before: a family's quantile stands for all its configurations, and so refuses some whose need is known. Where the proposal
/// would be refused for good, although attempts with the same work to do (measured_before.hpp) have shown that it fits with 5 % to spare,
/// its estimate is the whole device. Else a family of which only such proposals come would be refused as long as others keep its spread
/// wide.
///
/// Ventures: where nothing smaller is left to try, so that the proposal would be refused for good, risk that earlier attempts did not
/// need is spent on it (risk_budget.hpp). Its estimate is then the whole device, at the confidence that this has. Without them noise in
/// predictions would put some configurations at the edge of memory out of reach, and the best ones often lie there.
///
/// Design note: the fold over the history is kept between calls, so that an estimate costs what is new in the history. The answer
/// depends on the query alone. Thread safety: none.
class Calibrated {
public:
    static constexpr std::string_view name = "calibrated";
    static constexpr std::string_view summary = "learns from every attempt how far predictions are off, and keeps to a risk";
    struct Config {
        double risk = 0.01;
        std::string base = "dry_run";
        std::int64_t memory = 60;
        bool carry = true;
        bool venture = true;
    };
    static constexpr void fields(auto field) {
        field("risk", &Config::risk, "probability that an attempt needs more than is estimated");
        field("base", &Config::base, "the strongest prediction to ask for: dry_run, probe or formula");
        field("memory", &Config::memory, "attempts of a family that count, about; older ones fade");
        field("carry", &Config::carry, "begin with what other studies of the store have measured on the same device");
        field("venture", &Config::venture, "spend risk that safe attempts left on proposals that would be refused");
    }

    Calibrated() : Calibrated{Config{}} {}
    explicit Calibrated(Config config)
        : risk_{config.risk},
          evidence_{evidence_of(config.base)},
          residuals_{prior_of, static_cast<double>(config.memory)},
          carries_{config.carry},
          ventures_{config.venture} {
        if (!(config.risk >= 1e-6 && config.risk <= 0.5)) throw bad_value("risk", display_text(config.risk), "0.000001 to 0.5");
        if (config.memory < 2) throw bad_value("memory", std::to_string(config.memory), "2 or more");
    }

    [[nodiscard]] Estimate estimate(const MemoryQuery& query) const {
        Estimate estimate = query.prediction ? bare_estimate(*query.prediction) : formula_.estimate(query);
        if (!estimate.need) return estimate;
        const ResidualGroup group = residual_group(estimate.source, query.runs_on, query.params, query.plan);
        const ResidualPosterior& residuals = residuals_.after(query.history, group.pool);
        const auto quantile = [&](double risk) { return std::clamp(residuals.quantile(group.family, 1 - risk), -most_log, most_log); };
        const auto bounded = [](double bytes) { return static_cast<std::int64_t>(std::min(bytes, 0x1.0p62)); };

        const std::int64_t bare = *estimate.need;
        double risk = risk_;
        estimate.need = bounded(std::ceil(static_cast<double>(bare) * std::exp(quantile(risk))));
        if (query.smallest_plan && query.capacity_bytes && bare > 0 && *estimate.need > *query.capacity_bytes) {
            const double room = std::log(static_cast<double>(*query.capacity_bytes) / static_cast<double>(bare));
            const auto known = measured_before(query.history, {group, query.plan, bare});
            const double most = ventures_ ? std::min(most_risk, unspent_risk(query.history, risk_)) : 0;
            if (known && *known + repeats_within <= room) {
                estimate.need = query.capacity_bytes;
            } else if (most > risk_ && quantile(most) <= room) {
                double too_little = risk_;
                risk = most;
                while (risk - too_little > 1e-3) {  // the least at which it fits
                    const double middle = (too_little + risk) / 2;
                    (quantile(middle) <= room ? risk : too_little) = middle;
                }
                estimate.need = query.capacity_bytes;
            }
        }
        const std::int64_t margin = *estimate.need - bare;
        if (estimate.comfort) {
            const double comfort = static_cast<double>(*estimate.comfort) + static_cast<double>(margin);
            estimate.comfort = std::max(*estimate.need, bounded(comfort));
        }
        std::erase_if(estimate.parts, [](const EstimatePart& part) { return part.name == margin_part; });
        if (estimate.parts.empty()) estimate.parts.push_back({"predicted", bare});
        estimate.parts.push_back({margin_part, margin});  // below 0 where predictions are too high
        estimate.confidence = 1 - risk;
        return estimate;
    }
    [[nodiscard]] Evidence evidence() const { return evidence_; }
    [[nodiscard]] bool carries() const { return carries_; }

private:
    static constexpr double most_log = 4;           ///< a factor of 55
    static constexpr double most_risk = 0.99999;    ///< of one venture: what is surer to fail is not worth an attempt
    static constexpr double repeats_within = 0.05;  ///< log of what the same work may take more than it did

    [[nodiscard]] static Evidence evidence_of(const std::string& base) {
        if (base == "dry_run") return Evidence::dry_run;
        if (base == "probe") return Evidence::probe;
        if (base == Formula::name) return Evidence::shape;
        throw bad_value("base", "'" + base + "'", "dry_run, probe or formula");
    }
    /// A formula's errors, by the tables of docs/memory-prediction.md; those of predictions that run the trainer's own code are the
    /// standard.
    [[nodiscard]] static ResidualPrior prior_of(const std::string& pool) {
        if (pool.starts_with(Formula::name)) return {.centre = 0.2, .between = 0.1, .within = 0.1};
        return {};
    }

    double risk_;
    Evidence evidence_;
    Formula formula_{{.margin = 0}};
    mutable ResidualHistory residuals_;
    bool carries_;
    bool ventures_;
};

static_assert(CarryingGuard<Calibrated> && Configurable<Calibrated>);

}  // namespace hpo::memory
