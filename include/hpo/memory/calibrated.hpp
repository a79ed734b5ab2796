// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "hpo/core/field.hpp"
#include "hpo/memory/concept.hpp"
#include "hpo/memory/formula.hpp"
#include "hpo/memory/residual_history.hpp"

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
    explicit Calibrated(Config config);

    [[nodiscard]] Estimate estimate(const MemoryQuery& query) const;
    [[nodiscard]] Evidence evidence() const { return evidence_; }
    [[nodiscard]] bool carries() const { return carries_; }

private:
    static constexpr double most_log = 4;           ///< a factor of 55
    static constexpr double most_risk = 0.99999;    ///< of one venture: what is surer to fail is not worth an attempt
    static constexpr double repeats_within = 0.05;  ///< log of what the same work may take more than it did

    [[nodiscard]] static Evidence evidence_of(const std::string& base);
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

#ifndef HPO_COMPILED
#include "hpo/memory/impl/calibrated_inl.hpp"
#endif
