// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/field.hpp"
#include "hpo/guard/calibration/history.hpp"
#include "hpo/guard/concept.hpp"
#include "hpo/guard/formula.hpp"
#include "hpo/guard/learned/learned_peaks.hpp"

namespace hpo::guard {

/// Learns from every attempt how far predictions are off. Its estimate is a need that is enough with probability 1 - risk:
///
///     need = predicted need * exp(the (1 - risk) quantile of log(true need / predicted need))
///
/// The quantile is the posterior's (calibration/posterior.hpp) after all finished attempts of the study. An attempt that ran out of memory
/// is a right-censored observation. A prediction's own uncertainty is left out: the posterior starts with a prior for each source and then
/// learns the real error.
///
/// Measured before: the quantile of a family holds for all its configurations, so it also refuses some whose need is known. An attempt with
/// the same work may already have shown that a proposal fits with 5 % to spare (calibration/measured_before.hpp). If such a proposal would
/// be refused for good, its estimate is the whole device instead. Without this rule, a family that now proposes only such configurations
/// would stay refused for as long as other configurations keep its spread wide.
///
/// Ventures: a proposal may be about to be refused for good, because no smaller plan is left to try. Then it may use the risk that earlier
/// attempts left unspent (calibration/risk_budget.hpp). Its estimate is the whole device, and its confidence is the probability that this
/// is enough. Without ventures, noise in predictions would rule out some configurations at the edge of memory, where the best ones often
/// are.
///
/// Without a prediction or a shape, the base is what the study's own peaks show (learned/learned_peaks.hpp).
/// Peaks of other studies of the same program count as well, if it carries. They alone refuse nothing.
/// Before enough is known, every attempt gets the whole device. An attempt that may exceed the device is a venture. The
/// first attempt may risk one half, and each of the first `learning_attempts` less than the one before. After that, the share of attempts
/// that run out of memory is kept near `risk`. Each attempt adds a quarter of it to what ventures may risk. A venture takes away what it
/// risks, and an attempt that ran out of memory takes 1 away. A reservation by a learned peak may be too small with a quarter of `risk`,
/// from the first one on. The other half is for errors that are larger than foretold. Errors are learned in units of what the peak was
/// uncertain by. If ended attempts told no memory, nothing is estimated.
///
/// Larger attempts: a configuration that is in no parameter larger than one whose peak was learned from never has a larger estimate. If it
/// is at most as large in all that counts as one that fitted the device, it is not refused (LearnedPeaks::fitted_larger). A wrong answer
/// costs one attempt, and is not repeated. A configuration that is refused by mistake is lost to the study.
///
/// Failed categories: if all attempts of a category ran out of memory, nothing is known of clearly smaller ones
/// (LearnedPeaks::is_far_below_failed). They get the whole device, because a category that is refused by mistake is lost, too.
///
/// Design note: the state learned from the history is kept between calls, so that an estimate costs only what is new in the history. The
/// estimate depends on the query alone, but for one by a learned peak (LearnedPeaks). Thread safety: none.
class Calibrated {
public:
    static constexpr std::string_view name = "calibrated";
    static constexpr std::string_view summary = "learns from every attempt how far predictions are off, and keeps to a risk";
    static constexpr std::size_t learning_attempts = 20;  ///< with a learned peak, before their risk is kept to
    struct Config {
        double risk = 0.01;
        std::string base = "dry_run";
        std::int64_t memory = 60;
        bool carry = true;
        bool venture = true;
    };
    static constexpr void fields(auto field) {
        field("risk", &Config::risk, "probability that an attempt needs more than is estimated; a quarter of it for a learned peak");
        field("base", &Config::base, "the strongest prediction to ask for: virtual_card, dry_run, probe or formula");
        field("memory", &Config::memory, "attempts of a family that count, about; older ones fade");
        field("carry", &Config::carry, "begin with what other studies of the store have measured on the same device");
        field("venture", &Config::venture, "use the risk that safe attempts saved to try proposals that would otherwise be refused");
    }

    Calibrated() : Calibrated{Config{}} {}
    explicit Calibrated(Config config);

    [[nodiscard]] Estimate estimate(const MemoryQuery& query) const;
    [[nodiscard]] Evidence evidence() const { return evidence_; }
    [[nodiscard]] bool carries() const { return carries_; }
    [[nodiscard]] bool relearns(const Estimate& estimate) const {
        return estimate.source == learned_source || estimate.source == alone_source;
    }

private:
    static constexpr double most_log = 4;         ///< bounds the quantile: a factor of 55
    static constexpr double most_risk = 0.99999;  ///< of one venture; a proposal that is more likely to fail is not worth an attempt
    /// With so much for each refusal in a row, a venture is allowed that the saved risk does not cover. Else a study all of whose proposals
    /// are at the edge of the device would end.
    static constexpr double risk_of_refusal = 0.002;
    static constexpr double risk_while_learning = 0.5;  ///< of running out of memory on the whole device, for one attempt
    static constexpr double repeats_within = 0.05;      ///< the same work may take more than before by this much, as a logarithm

    [[nodiscard]] static Evidence evidence_of(const std::string& base);
    /// The prior for a formula's errors, from the tables of docs/measurements/prediction-errors.md. The default prior is for predictions
    /// that run the trainer's own code.
    [[nodiscard]] static ResidualPrior prior_of(const std::string& pool) {
        if (pool.starts_with(Formula::name)) return {.centre = 0.2, .between = 0.1, .within = 0.1};
        if (pool.starts_with(learned_source)) return {.centre = 0.03, .between = 0.03, .within = 0.11};  // in units of its uncertainty
        return {};
    }

    /// A base for an attempt without a prediction or a shape.
    struct LearnedBase {
        Estimate estimate;
        std::vector<Estimate> larger{};  ///< of attempts that were at least as large; this one needs no more
        double excess_risk = 1;          ///< probability that the device is too small
        bool is_untried = false;         ///< only other studies measured the program
    };
    /// The probability with which a reservation by a learned peak may be too small. Each attempt adds as much to what ventures may risk.
    /// Errors of few runs have longer tails than these runs show.
    [[nodiscard]] double learned_risk() const { return risk_ / 4; }
    [[nodiscard]] LearnedBase learned_base(const MemoryQuery& query) const;
    [[nodiscard]] static Estimate nothing_known(const MemoryQuery& query);
    [[nodiscard]] Estimate estimate_of(const NormalBelief& log_bytes) const;
    /// The probability of running out of memory that an attempt with a learned peak may have on the whole device.
    [[nodiscard]] double allowed_excess_risk(const History& history) const;

    double risk_;
    Evidence evidence_;
    Formula formula_{{.margin = 0}};
    mutable ResidualHistory residuals_;
    mutable LearnedPeaks learned_;
    bool carries_;
    bool ventures_;
};

static_assert(CarryingGuard<Calibrated> && RelearningGuard<Calibrated> && Configurable<Calibrated>);

}  // namespace hpo::guard
