// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/core/field.hpp"
#include "hpo/core/history_cursor.hpp"
#include "hpo/sampler/concept.hpp"
#include "hpo/sampler/parameter_groups.hpp"
#include "hpo/sampler/tpe_observations.hpp"
#include "hpo/sampler/tpe_parzen_estimator.hpp"
#include "hpo/sampler/tpe_split.hpp"
#include "hpo/sampler/uniform.hpp"

namespace hpo::sampler {

/// The tree-structured Parzen estimator, with one objective over all parameters jointly (Bergstra et al. 2011; multivariate: Falkner et al.
/// 2018). Models the good trials by a density l and the others by a density g. Draws candidates from l and takes the one with the greatest
/// l/g. The rules are those of Optuna 5's default, but that a density of few parameters has more candidates.
///
/// Draws uniformly until `startup_trials` trials have ended. Infeasible trials and rejected proposals are the worst observations. Running
/// trials repel. A failed trial is ignored unless a constraint says that it was infeasible. One model covers all branches of a conditional
/// space: an observation without a parameter has the prior there. With `group` each group of parameters that always occur together has a
/// density of its own instead. The groups are those of Optuna's group=True, which leaves out observations that lack a group's parameters.
/// Of several objectives the good trials are the best fronts (Ozaki et al.
/// 2022).
///
/// What it has computed of a history it keeps for the next draw (TpeObservations). A draw then costs O(ei_candidates * kernels *
/// parameters) multiplications. Beyond `kernels` observations a sample of the older ones stands for all of them. Thread safety: none. A
/// copy is independent.
class Tpe {
public:
    static constexpr std::string_view name = "tpe";
    static constexpr std::string_view summary =
        "models good and other trials by densities over all parameters and draws where good ones lie";
    struct Config {
        std::int64_t startup_trials = 10;
        std::optional<std::int64_t> ei_candidates{};
        double gamma = 0.1;
        double prior_weight = 1;
        std::int64_t kernels = 400;
        std::string multivariate = "auto";
        bool group = false;
    };
    static constexpr void fields(auto field) {
        field("startup_trials", &Config::startup_trials, "trials that are drawn uniformly at first");
        field("ei_candidates", &Config::ei_candidates,
              "candidates that are compared for one draw; none: 96 for a density of 2 to 10 parameters, fewer for more, 24 for one");
        field("gamma", &Config::gamma, "share of trials that count as good (of one objective at most 25 trials)");
        field("prior_weight", &Config::prior_weight, "weight of the uniform-like prior beside one trial");
        field("kernels", &Config::kernels, "trials that are not good and have a kernel, about; 0: all");
        field("multivariate", &Config::multivariate,
              "true: one density over all parameters; false: one for each; auto: true with one objective or with group");
        field("group", &Config::group, "one density over each group of parameters that always occur together, of a multivariate model");
    }

    Tpe() : Tpe{Config{}} {}
    explicit Tpe(Config config);

    [[nodiscard]] ParamSet suggest_joint(const TrialContext& trial, Rng& rng) { return suggest_beside({}, trial, rng); }

    /// Draws the parameters that `known` does not have, given those that it has.
    [[nodiscard]] ParamSet suggest_beside(const ParamSet& known, const TrialContext& trial, Rng& rng);

    /// Draws one parameter inside its narrowing, given the values that the trial already has.
    [[nodiscard]] double suggest(const Ask& ask);

private:
    /// The modelled parameters.
    struct Model {
        std::vector<std::string_view> names;
        std::vector<ModelAxis> axes;

        void add_axis(std::string_view parameter, const Distribution& distribution) {
            names.push_back(parameter);
            axes.emplace_back(distribution);
        }
        [[nodiscard]] TpeParzenEstimator estimator(const std::vector<const ParamSet*>& observations, double prior_weight) const;
    };

    [[nodiscard]] bool has_learned(const TrialContext& trial);
    void follow_groups(const TrialContext& trial);
    [[nodiscard]] bool is_multivariate(const TrialContext& trial) const {
        return config_.multivariate == "auto" ? config_.group || trial.history.directions.size() < 2 : config_.multivariate == "true";
    }
    [[nodiscard]] bool is_grouped(const TrialContext& trial) const { return config_.group && is_multivariate(trial); }
    /// True if two parameters are drawn from one density.
    [[nodiscard]] bool are_together(const TrialContext& trial, std::string_view a, std::string_view b) const {
        return is_multivariate(trial) && (!config_.group || groups_.group_of(a) == groups_.group_of(b));
    }
    /// How many are compared for one draw from a density of so many parameters. Beyond ten parameters there are fewer, because each costs
    /// more. For a single parameter there are as many as Optuna's, because a trial then has a density, and a draw, for each parameter.
    [[nodiscard]] std::size_t candidates(std::size_t parameters) const {
        if (config_.ei_candidates) return static_cast<std::size_t>(*config_.ei_candidates);
        return parameters < 2 ? 24 : std::clamp<std::size_t>(960 / parameters, 24, 96);
    }
    void draw_together(std::span<const Dimension> space, const ParamSet& known, const TrialContext& trial, Rng& rng, ParamSet& drawn);

    static void keep_different(std::vector<std::vector<double>>& points, std::span<const ModelAxis> axes);
    static std::size_t greatest_ratio(const std::vector<double>& good, const std::vector<double>& other);

    Config config_;
    TpeObservations observations_;
    HistoryCursor cursor_;    ///< of groups_
    ParameterGroups groups_;  ///< of complete and pruned trials; empty without `group`
};

static_assert(JointSampler<Tpe> && Configurable<Tpe>);

inline Tpe::Tpe(Config config)
    : config_{config},
      observations_{config.gamma, config.prior_weight, static_cast<std::size_t>(std::max<std::int64_t>(0, config.kernels))} {
    require_at_least<0>("startup_trials", config.startup_trials);
    if (config.ei_candidates) {
        require_at_least<1>("ei_candidates", *config.ei_candidates);
        constexpr std::int64_t most = 100'000;
        if (*config.ei_candidates > most)
            throw bad_value("ei_candidates", std::to_string(*config.ei_candidates), "at most " + std::to_string(most));
    }
    if (config.kernels < 0 || config.kernels == 1) throw bad_value("kernels", std::to_string(config.kernels), "0, or 2 or more");
    if (config.multivariate != "auto" && config.multivariate != "true" && config.multivariate != "false")
        throw bad_value("multivariate", config.multivariate, "auto, true or false");
    if (config.group && config.multivariate == "false")
        throw bad_value("group", "true with multivariate=false", "one of the two, because a group has one density");
    if (!(config.gamma > 0 && config.gamma <= 1)) throw bad_value("gamma", display_text(config.gamma), "above 0, at most 1");
    if (!(config.prior_weight > 0) || !std::isfinite(config.prior_weight)) {
        throw bad_value("prior_weight", display_text(config.prior_weight), "above 0");
    }
}

inline ParamSet Tpe::suggest_beside(const ParamSet& known, const TrialContext& trial, Rng& rng) {
    if (!has_learned(trial)) return {};
    std::vector<Dimension> space = observations_.space();
    std::erase_if(space, [](const Dimension& dimension) { return is_single(*dimension.distribution); });
    if (space.empty()) return {};
    ParamSet drawn;
    drawn.reserve(space.size());
    if (is_grouped(trial)) {  // by their first parameter, because the order in which trials were read must not count
        std::map<std::size_t, std::size_t> first_of;
        for (std::size_t d = 0; d < space.size(); ++d) first_of.try_emplace(groups_.group_of(space[d].name), d);
        std::ranges::stable_sort(space, {}, [&](const Dimension& dimension) { return first_of.at(groups_.group_of(dimension.name)); });
    }
    for (std::size_t first = 0, end = 0; first < space.size(); first = end) {
        end = first + 1;
        while (end < space.size() && are_together(trial, space[first].name, space[end].name)) ++end;
        draw_together(std::span{space}.subspan(first, end - first), known, trial, rng, drawn);
    }
    return drawn;
}

/// Draws parameters of one density, and adds those that are not known.
inline void Tpe::draw_together(std::span<const Dimension> space, const ParamSet& known, const TrialContext& trial, Rng& rng,
                               ParamSet& drawn) {
    Model model;
    std::vector<TpePart> parts;
    std::vector<std::optional<double>> values;
    for (const Dimension& dimension : space) {
        model.add_axis(dimension.name, *dimension.distribution);
        parts.push_back({model.axes.back(), {}});
        const Param* const param = known.find(dimension.name);
        const bool is_known =
            param && compatible(*param->distribution, *dimension.distribution) && model.axes.back().holds(param->internal);
        values.push_back(is_known ? std::optional{param->internal} : std::nullopt);
    }
    const TpeParzenEstimator good = model.estimator(observations_.good(trial.history), config_.prior_weight);
    std::optional<TpeParzenEstimator> near_known;  // good, if nothing is known
    for (std::size_t d = 0; d < space.size(); ++d) {
        if (values[d]) (near_known ? *near_known : near_known.emplace(good)).condition(d, *values[d]);
    }
    const std::size_t count = candidates(space.size());
    auto points = (near_known ? *near_known : good).draw(parts, count, rng);
    for (std::size_t d = 0; d < space.size(); ++d) {
        if (values[d]) points[d].assign(count, *values[d]);
    }
    keep_different(points, model.axes);
    const std::size_t best = greatest_ratio(good.log_density(points), observations_.log_density_of_others(model.names, points));
    for (std::size_t d = 0; d < space.size(); ++d) {
        if (!values[d]) drawn.append({space[d].name, space[d].distribution, points[d][best]});
    }
}

inline double Tpe::suggest(const Ask& ask) {
    const auto part = narrowed(ask.distribution, ask.within);
    const auto uniform = [&] { return draw_uniform(ask.distribution, ask.within, ask.rng); };
    if (!has_learned(ask.trial) || is_single(*part)) return uniform();
    const auto is_modelled = [&](std::string_view parameter, const Distribution& distribution) {
        const Distribution* const latest = observations_.latest(parameter);
        return latest && !is_single(distribution) && compatible(*latest, distribution);
    };
    if (!is_modelled(ask.name, ask.distribution)) return uniform();

    Model model;
    std::vector<double> known;
    bool are_latest = *observations_.latest(ask.name) == ask.distribution;  // the distributions, and not earlier ones with other ranges
    for (const Param& param : ask.fixed) {
        if (!are_together(ask.trial, ask.name, param.name) || !is_modelled(param.name, *param.distribution)) continue;
        model.add_axis(param.name, *param.distribution);
        known.push_back(param.internal);
        are_latest = are_latest && *observations_.latest(param.name) == *param.distribution && model.axes.back().holds(param.internal);
    }
    model.add_axis(ask.name, ask.distribution);
    TpeParzenEstimator good = model.estimator(observations_.good(ask.trial.history), config_.prior_weight);
    for (std::size_t d = 0; d < known.size(); ++d) good.condition(d, known[d]);
    const std::size_t count = candidates(model.axes.size());
    std::vector<std::vector<double>> points{good.draw(known.size(), {ModelAxis{*part}, ask.within.allowed}, count, ask.rng)};
    keep_different(points, std::span{model.axes}.last(1));
    const std::vector<double> drawn = points[0];
    const std::vector<double> of_good = good.log_density(points, known.size());
    if (are_latest) {
        points.clear();
        for (const double each : known) points.emplace_back(drawn.size(), each);
        points.push_back(drawn);
        return drawn[greatest_ratio(of_good, observations_.log_density_of_others(model.names, points))];
    }
    TpeParzenEstimator others = model.estimator(tpe_split(ask.trial.history, ask.trial.number, config_.gamma).above, config_.prior_weight);
    for (std::size_t d = 0; d < known.size(); ++d) others.condition(d, known[d]);
    return drawn[greatest_ratio(of_good, others.log_density(points, known.size()))];
}

inline TpeParzenEstimator Tpe::Model::estimator(const std::vector<const ParamSet*>& observations, double prior_weight) const {
    std::vector<std::vector<double>> values(axes.size(),
                                            std::vector<double>(observations.size(), std::numeric_limits<double>::quiet_NaN()));
    for (std::size_t i = 0; i < observations.size(); ++i) {
        for (std::size_t d = 0; d < axes.size(); ++d) {
            const Param* param = observations[i]->find(names[d], d);
            if (param && axes[d].holds(param->internal)) values[d][i] = param->internal;
        }
    }
    return {axes, values, observations.size(), prior_weight};
}

inline bool Tpe::has_learned(const TrialContext& trial) {
    observations_.follow(trial.history, trial.number);
    if (config_.group) follow_groups(trial);
    return observations_.learned_from() >= config_.startup_trials;
}

inline void Tpe::follow_groups(const TrialContext& trial) {
    if (!cursor_.goes_on(trial.history)) {
        cursor_.restart(trial.history);
        groups_ = {};
    }
    const auto ended = [&](std::size_t place) {
        const Trial& other = trial.history.trials[place];
        if (other.state == TrialState::complete || other.state == TrialState::pruned) groups_.take_in(other.params);
    };
    cursor_.advance(trial.history, trial.number, ended, [](std::size_t) {});
}

/// Leaves out points that are equal to one before: their densities would be computed again. `points[d]` are the values on `axes[d]`. Looks
/// for none where a number without a grid differs, because such points hardly repeat. O(points * different points).
inline void Tpe::keep_different(std::vector<std::vector<double>>& points, std::span<const ModelAxis> axes) {
    const std::size_t count = points.front().size();
    std::vector<std::size_t> differing;  // axes
    for (std::size_t d = 0; d < axes.size(); ++d) {
        const auto is_other = [&](double value) { return value != points[d].front(); };
        if (std::none_of(points[d].begin(), points[d].end(), is_other)) continue;
        if (axes[d].choices == 0 && axes[d].step == 0) return;
        differing.push_back(d);
    }
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < count; ++i) {
        const auto is_equal = [&](std::size_t k) {
            return std::all_of(differing.begin(), differing.end(), [&](std::size_t d) { return points[d][k] == points[d][i]; });
        };
        if (std::none_of(kept.begin(), kept.end(), is_equal)) kept.push_back(i);
    }
    for (std::vector<double>& values : points) {
        for (std::size_t k = 0; k < kept.size(); ++k) values[k] = values[kept[k]];
        values.resize(kept.size());
    }
}

inline std::size_t Tpe::greatest_ratio(const std::vector<double>& good, const std::vector<double>& other) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < good.size(); ++i) {
        if (good[i] - other[i] > good[best] - other[best]) best = i;
    }
    return best;
}

}  // namespace hpo::sampler
