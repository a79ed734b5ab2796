// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/core/field.hpp"
#include "hpo/core/history_cursor.hpp"
#include "hpo/core/param_set.hpp"
#include "hpo/sampler/cmaes.hpp"
#include "hpo/sampler/concept.hpp"
#include "hpo/sampler/gp.hpp"
#include "hpo/sampler/model_axis.hpp"
#include "hpo/sampler/quadratic_step.hpp"
#include "hpo/sampler/tpe.hpp"

namespace hpo::sampler {

/// Chooses among `gp`, `tpe` and `cmaes` by what the study is like, and changes over as it grows:
///
/// | objectives | parameters | up to `gp_trials` complete trials | beyond |
/// |---|---|---|---|
/// | one, and more than a quarter of the trials pruned | any | tpe, which learns from pruned trials | tpe |
/// | one | each has few values | gp | tpe |
/// | one | numbers, the same in each trial | gp and QuadraticStep by turns | two of three cmaes, the third tpe |
/// | one | numbers, but a quadratic would mislead | two of three trials gp, the third cmaes | the same |
/// | one | choices or branches, too | two of three trials gp, the third tpe | tpe |
/// | two or three | any | gp | tpe |
/// | more | any | tpe | tpe |
///
/// A quadratic would mislead where values are noisy, parameters are fixed or their ranges change, and once anything was infeasible.
/// Each of them learns from all trials, whoever proposed them. Where all parameters have few values, no configuration is proposed again
/// that has ended. What it chooses follows from the history alone, never from the clock. It is linked with hpo::search. Thread safety:
/// none. A copy is independent.
class Auto {
public:
    static constexpr std::string_view name = "auto";
    static constexpr std::string_view summary = "chooses among gp, tpe and cmaes by what the study is like, and changes over as it grows";
    struct Config {
        std::int64_t gp_trials = 250;
    };
    static constexpr void fields(auto field) {
        field("gp_trials", &Config::gp_trials, "complete trials until which a Gaussian process leads");
    }

    Auto() : Auto{Config{}} {}
    explicit Auto(Config config) : config_{config}, gp_{{.repeat = false}} { require_at_least<0>("gp_trials", config.gp_trials); }

    [[nodiscard]] ParamSet suggest_joint(const TrialContext& trial, Rng& rng) {
        follow(trial);
        const Leader its = leader(trial);
        ParamSet drawn = its == Leader::quadratic ? step_by_quadratic(trial, rng) : ParamSet{};
        if (drawn.empty()) drawn = with(its, [&](auto& sampler) { return sampler.suggest_joint(trial, rng); });
        return gp_.has_ended(trial, drawn) ? gp_.suggest_joint(trial, rng) : drawn;
    }

    [[nodiscard]] double suggest(const Ask& ask) {
        follow(ask.trial);
        return with(leader(ask.trial), [&](auto& sampler) { return sampler.suggest(ask); });
    }

    /// What it does in a study of so many objectives, whose trials have such parameters as these, and why.
    [[nodiscard]] std::string explanation(std::size_t objectives, std::span<const ParamSet> trials) const {
        Space space;
        for (const ParamSet& params : trials) space.take_in(params);
        const std::string later = "; from " + std::to_string(config_.gp_trials) + " complete trials on ";
        const std::string pruned = "; tpe alone while more than a quarter of the trials is pruned";
        if (objectives > most_gp_objectives) return "tpe, because there are more than three objectives";
        if (objectives > 1) return "gp, because there are few objectives" + later + "tpe";
        if (space.is_small) return "gp, because each parameter has few values" + later + "tpe" + pruned;
        const std::string after = later + "cmaes, and tpe for each third" + pruned;
        if (space.is_of_numbers && !space.is_constant)
            return "gp, and cmaes for each third trial, because all parameters are numbers, whose ranges have changed" + after;
        if (space.is_of_numbers)
            return "gp, and for each second trial the least of a quadratic around the best one, because all parameters are numbers; "
                   "gp, and cmaes for each third, while values are noisy or once trials were infeasible" +
                   after;
        return "gp, and tpe for each third trial, because there are choices or branches" + later + "tpe" + pruned;
    }

private:
    enum class Leader { gp, tpe, cmaes, quadratic };
    static constexpr std::size_t most_gp_objectives = 3;

    /// What trials show of the parameters.
    struct Space {
        ParamSet last{};
        bool is_known = false;
        bool is_of_numbers = true;  ///< and each trial has them all
        bool is_constant = true;    ///< each has always had the same range
        bool is_small = true;       ///< each parameter has few values

        void take_in(const ParamSet& params) {
            bool is_same = !is_known || params.size() == last.size();
            auto before = last.begin();
            for (const Param& param : params) {
                const bool is_choice = std::holds_alternative<CategoricalDistribution>(*param.distribution);
                is_of_numbers = is_of_numbers && (!is_choice || is_single(*param.distribution));
                is_small = is_small && has_few_values(*param.distribution);
                if (!is_known || !is_same) continue;
                is_same = before->name == param.name;
                is_constant = is_constant && *before->distribution == *param.distribution;
                ++before;
            }
            is_of_numbers = is_of_numbers && is_same;
            last = params;
            is_known = true;
        }
    };

    [[nodiscard]] static bool has_few_values(const Distribution& distribution) {
        constexpr double few = 100;
        const ModelAxis axis{distribution};
        return axis.choices > 0 || is_single(distribution) || (axis.step > 0 && (axis.last - axis.first) / axis.step < few);
    }

    void follow(const TrialContext& trial) {
        const History& history = trial.history;
        if (!cursor_.goes_on(history)) {
            cursor_.restart(history);
            space_ = {};
            complete_ = pruned_ = 0;
            meets_limits_ = false;
            quadratic_.forget();
        }
        const auto ended = [&](std::size_t place) {
            const Trial& ending = history.trials[place];
            meets_limits_ = meets_limits_ || !ending.feasible();
            if (ending.state == TrialState::pruned) ++pruned_;
            if (ending.state != TrialState::complete) return;
            ++complete_;
            space_.take_in(ending.params);
            if (!may_have_quadratic() || ending.values.size() != 1 || !std::isfinite(ending.values.front())) return;
            const bool is_maximised = !history.directions.empty() && history.directions.front() == Direction::maximize;
            QuadraticStep::Point point = point_of(ending.params);
            const auto is_inside = [](double coordinate) { return coordinate >= 0 && coordinate <= 1; };
            if (!std::ranges::all_of(point, is_inside)) return;  // a program may have enqueued values outside of its ranges
            quadratic_.learn(std::move(point), is_maximised ? -ending.values.front() : ending.values.front());
        };
        cursor_.advance(history, trial.number, ended, [&](std::size_t) { meets_limits_ = true; });
    }

    [[nodiscard]] Leader leader(const TrialContext& trial) {
        const std::size_t objectives = trial.history.directions.size();
        const auto before = std::ranges::lower_bound(trial.history.trials, trial.number, {}, &Trial::number) - trial.history.trials.begin();
        const bool is_third = before % 3 == 2;
        const bool is_early = complete_ < config_.gp_trials;
        if (objectives > 1) return is_early && objectives <= most_gp_objectives ? Leader::gp : Leader::tpe;
        if (3 * pruned_ > complete_) return Leader::tpe;
        if (space_.is_small) return is_early ? Leader::gp : Leader::tpe;
        if (!space_.is_of_numbers) return is_early && !is_third ? Leader::gp : Leader::tpe;
        if (!is_early) return is_third ? Leader::tpe : Leader::cmaes;
        if (has_quadratic(trial)) return before % 2 == 1 ? Leader::quadratic : Leader::gp;
        return is_third ? Leader::cmaes : Leader::gp;
    }

    /// What is infeasible has no value, so a quadratic would go there again and again.
    [[nodiscard]] bool may_have_quadratic() const {
        return space_.is_of_numbers && space_.is_constant && !space_.is_small && !meets_limits_;
    }
    /// Where much of the values is noise, the best trial is a lucky one, and a quadratic around it follows the noise. Fixed parameters are
    /// for the samplers, which draw the others given these.
    [[nodiscard]] bool has_quadratic(const TrialContext& trial) {
        constexpr double most_noise = 0.05;
        if ((trial.fixed && !trial.fixed->empty()) || !may_have_quadratic() || !quadratic_.has_learned()) return false;
        const std::optional<double> noise = gp_.noise_share(trial);
        return noise && *noise <= most_noise;
    }

    /// The coordinates in [0, 1] of the parameters that have more than one value.
    [[nodiscard]] static QuadraticStep::Point point_of(const ParamSet& params) {
        QuadraticStep::Point point;
        for (const Param& param : params) {
            if (!is_single(*param.distribution)) point.push_back(ModelAxis{*param.distribution}.to_unit(param.internal));
        }
        return point;
    }

    /// Empty if the space has refused its step, or if all is tried where it would step to.
    [[nodiscard]] ParamSet step_by_quadratic(const TrialContext& trial, Rng& rng) {
        if (trial.proposal > 0) return {};
        std::vector<ModelAxis> axes;
        for (const Param& param : space_.last) {
            if (!is_single(*param.distribution)) axes.emplace_back(*param.distribution);
        }
        std::vector<QuadraticStep::Point> running;
        for (const std::size_t place : cursor_.open()) {
            const Trial& other = trial.history.trials[place];
            if (other.number != trial.number) running.push_back(point_of(other.params));
            if (!running.empty() && running.back().size() != axes.size()) running.pop_back();  // it has not all of them yet
        }
        const auto admitted = [&](QuadraticStep::Point point) {
            for (std::size_t d = 0; d < point.size(); ++d) point[d] = axes[d].to_unit(axes[d].to_internal(axes[d].model_at(point[d])));
            return point;
        };
        const QuadraticStep::Point point = quadratic_.propose(running, admitted, rng);
        ParamSet drawn;
        std::size_t d = 0;
        for (const Param& param : space_.last) {
            if (point.empty()) break;
            if (is_single(*param.distribution)) continue;
            drawn.append({param.name, param.distribution, axes[d].to_internal(axes[d].model_at(point[d]))});
            ++d;
        }
        return drawn;
    }

    template <std::invocable<Gp&> Use>
    std::invoke_result_t<Use, Gp&> with(Leader leader, const Use& use) {
        switch (leader) {
            case Leader::tpe: return use(tpe_);
            case Leader::cmaes: return use(cmaes_);
            case Leader::gp:
            case Leader::quadratic: break;  // where it has no step
        }
        return use(gp_);
    }

    Config config_;
    Gp gp_;
    Tpe tpe_;
    Cmaes cmaes_;
    QuadraticStep quadratic_;
    HistoryCursor cursor_;
    Space space_;
    std::int64_t complete_ = 0;
    std::int64_t pruned_ = 0;
    bool meets_limits_ = false;  ///< a trial or a proposal was infeasible
};

static_assert(JointSampler<Auto> && Configurable<Auto>);

}  // namespace hpo::sampler
