// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
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
#include "hpo/sampler/tpe.hpp"

namespace hpo::sampler {

/// Chooses among `gp`, `tpe` and `cmaes` by what the study is like, and changes over as it grows:
///
/// | objectives | parameters | up to `gp_trials` complete trials | beyond |
/// |---|---|---|---|
/// | one, and more than a quarter of the trials pruned | any | tpe, which learns from pruned trials | tpe |
/// | one | each has few values | gp | tpe |
/// | one | numbers, the same in each trial | two of three trials gp, the third cmaes | two of three cmaes, the third tpe |
/// | one | choices or branches, too | two of three trials gp, the third tpe | tpe |
/// | two or three | any | gp | tpe |
/// | more | any | tpe | tpe |
///
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
        ParamSet drawn = with_leader(trial, [&](auto& sampler) { return sampler.suggest_joint(trial, rng); });
        return gp_.has_ended(trial, drawn) ? gp_.suggest_joint(trial, rng) : drawn;
    }

    [[nodiscard]] double suggest(const Ask& ask) {
        return with_leader(ask.trial, [&](auto& sampler) { return sampler.suggest(ask); });
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
        if (space.is_of_numbers)
            return "gp, and cmaes for each third trial, because all parameters are numbers" + later + "cmaes, and tpe for each third" +
                   pruned;
        return "gp, and tpe for each third trial, because there are choices or branches" + later + "tpe" + pruned;
    }

private:
    enum class Leader { gp, tpe, cmaes };
    static constexpr std::size_t most_gp_objectives = 3;

    /// What trials show of the parameters.
    struct Space {
        std::vector<std::string> names{};
        bool is_known = false;
        bool is_of_numbers = true;  ///< and each trial has them all
        bool is_small = true;       ///< each parameter has few values

        void take_in(const ParamSet& params) {
            std::vector<std::string> its;
            for (const Param& param : params) {
                its.push_back(param.name);
                const bool is_choice = std::holds_alternative<CategoricalDistribution>(*param.distribution);
                is_of_numbers = is_of_numbers && (!is_choice || is_single(*param.distribution));
                is_small = is_small && has_few_values(*param.distribution);
            }
            is_of_numbers = is_of_numbers && (!is_known || its == names);
            names = std::move(its);
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
        }
        const auto ended = [&](std::size_t place) {
            if (history.trials[place].state == TrialState::pruned) ++pruned_;
            if (history.trials[place].state != TrialState::complete) return;
            ++complete_;
            space_.take_in(history.trials[place].params);
        };
        cursor_.advance(history, trial.number, ended, [](std::size_t) {});
    }

    [[nodiscard]] Leader leader(const TrialContext& trial) const {
        const std::size_t objectives = trial.history.directions.size();
        const auto before = std::ranges::lower_bound(trial.history.trials, trial.number, {}, &Trial::number) - trial.history.trials.begin();
        const bool is_third = before % 3 == 2;
        const bool is_early = complete_ < config_.gp_trials;
        if (objectives > 1) return is_early && objectives <= most_gp_objectives ? Leader::gp : Leader::tpe;
        if (3 * pruned_ > complete_) return Leader::tpe;
        if (space_.is_small) return is_early ? Leader::gp : Leader::tpe;
        if (!space_.is_of_numbers) return is_early && !is_third ? Leader::gp : Leader::tpe;
        if (is_early) return is_third ? Leader::cmaes : Leader::gp;
        return is_third ? Leader::tpe : Leader::cmaes;
    }

    template <std::invocable<Gp&> Use>
    std::invoke_result_t<Use, Gp&> with_leader(const TrialContext& trial, const Use& use) {
        follow(trial);
        switch (leader(trial)) {
            case Leader::tpe: return use(tpe_);
            case Leader::cmaes: return use(cmaes_);
            case Leader::gp: break;
        }
        return use(gp_);
    }

    Config config_;
    Gp gp_;
    Tpe tpe_;
    Cmaes cmaes_;
    HistoryCursor cursor_;
    Space space_;
    std::int64_t complete_ = 0;
    std::int64_t pruned_ = 0;
};

static_assert(JointSampler<Auto> && Configurable<Auto>);

}  // namespace hpo::sampler
