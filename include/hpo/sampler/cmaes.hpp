// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/core/field.hpp"
#include "hpo/core/history_cursor.hpp"
#include "hpo/sampler/cma_distribution.hpp"
#include "hpo/sampler/cma_restarts.hpp"
#include "hpo/sampler/concept.hpp"
#include "hpo/sampler/model_axis.hpp"
#include "hpo/sampler/suggest.hpp"
#include "hpo/sampler/tpe.hpp"
#include "hpo/sampler/truncated_normal.hpp"
#include "hpo/sampler/uniform.hpp"
#include "hpo/space/inferred_space.hpp"

namespace hpo::sampler {

/// Adapts a normal distribution over the numbers of the space to where good trials lie (CMA-ES, see CmaDistribution). Every generation of
/// `population` trials moves it. Numbers on a grid keep a margin, so that none of them is given up too soon. Where the distribution has
/// shrunk to a point, it starts anew elsewhere with another population (see CmaRestarts).
///
/// Learns from every finished trial that has a value, whoever proposed it, in the order in which they ended. So a study goes on where
/// another sampler left it. Infeasible trials and refused proposals are the worst of their generation. Pruned and failed trials are
/// ignored, unless they were infeasible. One objective only.
///
/// Choices, and parameters that not every trial has, are drawn by Tpe, given the numbers. Tpe learns from pruned and running trials, too,
/// and draws uniformly until 10 trials have ended.
///
/// What it has computed of a history it keeps for the next draw. A draw costs O(d^2) for d numbers, and O(d^3 + population d^2) once for
/// each generation. Tpe's draw comes on top, if there is one. Thread safety: none. A copy is independent.
class Cmaes {
public:
    static constexpr std::string_view name = "cmaes";
    static constexpr std::string_view summary = "adapts a normal distribution over the numbers of the space to where good trials lie";
    struct Config {
        std::int64_t startup_trials = 1;
        std::int64_t population = 0;
        double sigma = 1.0 / 6;
        bool separable = false;
        bool margin = true;
        std::string restart = "ipop";
        bool lr_adapt = false;
        std::string independent = "tpe";
    };
    static constexpr void fields(auto field) {
        field("startup_trials", &Config::startup_trials, "trials that are drawn uniformly at first");
        field("population", &Config::population, "trials of a generation; 0: 4 + 3 ln(numbers)");
        field("sigma", &Config::sigma, "first standard deviation, as a share of each range");
        field("separable", &Config::separable,
              "adapt each number by itself: faster for many numbers, blind to how they depend on each other");
        field("margin", &Config::margin, "keep a chance that numbers on a grid leave their cell");
        field("restart", &Config::restart,
              "ipop: start anew with twice the population once it has converged; bipop: with a large or a small one; none");
        field("lr_adapt", &Config::lr_adapt, "adapt learning rates: smaller steps where values are noisy; takes many trials");
        field("independent", &Config::independent, "what draws choices, and parameters that not every trial has: tpe or random");
    }

    Cmaes() : Cmaes{Config{}} {}
    explicit Cmaes(Config config) : config_{std::move(config)}, strategy_{strategy_of(config_.restart)} {
        require_at_least<0>("startup_trials", config_.startup_trials);
        constexpr std::int64_t most = 100'000;
        if (config_.population < 0 || config_.population == 1 || config_.population > most)
            throw bad_value("population", std::to_string(config_.population), "0, or 2 or more, at most " + std::to_string(most));
        if (!(config_.sigma > 0 && config_.sigma <= 1)) throw bad_value("sigma", display_text(config_.sigma), "above 0, at most 1");
        if (config_.lr_adapt && config_.separable) throw bad_value("lr_adapt", "true together with separable=true", "one of the two");
        if (config_.independent != "tpe" && config_.independent != "random")
            throw bad_value("independent", config_.independent, "tpe or random");
    }

    void require_objectives(std::size_t objectives) const {
        if (objectives < 2) return;
        throw Error{Errc::usage, "cmaes: got " + std::to_string(objectives) +
                                     " objectives; expected one, because it learns from one value; auto, gp and tpe take several"};
    }
    [[nodiscard]] ParamSet suggest_joint(const TrialContext& trial, Rng& rng) {
        follow(trial);
        ParamSet drawn;
        if (is_starting()) return drawn;
        if (distribution_) {
            const std::vector<double> point = draw(rng);  // first, because take_in draws it again
            for (std::size_t i = 0; i < dimensions_.size(); ++i)
                drawn.append({dimensions_[i].name, dimensions_[i].distribution, internal_at(i, point[i])});
        }
        if (!has_others_ || !asks_tpe()) return drawn;
        for (const Param& param : tpe_.suggest_beside(drawn, trial, rng)) drawn.append(param);
        return drawn;
    }

    /// Draws one parameter inside its narrowing: a number of the model from its own normal distribution.
    [[nodiscard]] double suggest(const Ask& ask) {
        follow(ask.trial);
        const auto is_it = [&](const Dimension& dimension) {
            return dimension.name == ask.name && *dimension.distribution == ask.distribution;
        };
        const auto found = std::find_if(dimensions_.begin(), dimensions_.end(), is_it);
        const auto part = narrowed(ask.distribution, ask.within);
        const bool is_modelled = found != dimensions_.end();
        if (!is_modelled && asks_tpe()) return tpe_.suggest(ask);
        if (!is_modelled || !has_learned() || is_single(*part)) return draw_uniform(ask.distribution, ask.within, ask.rng);
        const auto i = static_cast<std::size_t>(found - dimensions_.begin());
        const ModelAxis narrow{*part};
        const double mean = axes_[i].model_at(distribution_->mean()[i]);
        const double deviation = distribution_->deviation(i) * (axes_[i].high - axes_[i].low);
        if (!(deviation > 0)) return narrow.to_internal(mean);
        const double model = mean + deviation * truncated_normal_quantile(ask.rng.uniform(), (narrow.low - mean) / deviation,
                                                                          (narrow.high - mean) / deviation);
        return narrow.to_internal(std::clamp(model, narrow.low, narrow.high));
    }

private:
    /// What the order of a generation goes by: feasible before infeasible, then the smaller number.
    struct Rank {
        double violation = 0;
        double value = 0;
        friend bool operator<(const Rank& a, const Rank& b) { return std::tie(a.violation, a.value) < std::tie(b.violation, b.value); }
    };
    struct Told {
        std::vector<double> point;
        Rank rank;
    };
    /// When an observation came: first those without a time, then by their end, then by their place.
    using Age = std::tuple<std::int64_t, std::size_t, std::size_t>;
    struct Observation {
        Age age;
        const ParamSet* params;
        Rank rank;
        std::int64_t number;  ///< of the trial; -1: a refused proposal
    };

    /// Older studies have true and false.
    [[nodiscard]] static CmaRestarts::Strategy strategy_of(const std::string& restart) {
        if (restart == "ipop" || restart == "true") return CmaRestarts::Strategy::ipop;
        if (restart == "none" || restart == "false") return CmaRestarts::Strategy::none;
        if (restart == "bipop") return CmaRestarts::Strategy::bipop;
        throw bad_value("restart", restart, "ipop, bipop or none");
    }
    [[nodiscard]] CmaDistribution distribution_at(std::vector<double> mean, CmaRestarts::Start start) const {
        return {std::move(mean),
                {.population = start.population,
                 .sigma = start.sigma_factor * config_.sigma,
                 .separable = config_.separable,
                 .lr_adapt = config_.lr_adapt}};
    }

    [[nodiscard]] bool is_starting() const { return observed_ < config_.startup_trials; }
    [[nodiscard]] bool has_learned() const { return distribution_ && !is_starting(); }
    /// True if Tpe draws what is no number of the model.
    [[nodiscard]] bool asks_tpe() const { return config_.independent == "tpe" && !is_starting(); }
    [[nodiscard]] double unit_of(std::size_t i, double internal) const {
        return axes_[i].to_unit(std::clamp(internal, axes_[i].first, axes_[i].last));
    }
    [[nodiscard]] double internal_at(std::size_t i, double unit) const { return axes_[i].to_internal(axes_[i].model_at(unit)); }

    /// A point of the unit cube. What still lies outside after some draws is moved to its edge.
    [[nodiscard]] std::vector<double> draw(Rng& rng) const {
        const auto is_outside = [](double unit) { return unit < 0 || unit > 1; };
        std::vector<double> point;
        for (std::size_t i = 0; i < 10 * dimensions_.size(); ++i) {
            point = distribution_->draw(rng);
            if (std::none_of(point.begin(), point.end(), is_outside)) return point;
        }
        for (double& unit : point) unit = std::clamp(unit, 0.0, 1.0);
        return point;
    }

    void follow(const TrialContext& trial);
    void start(const TrialContext& trial);
    [[nodiscard]] static std::optional<Observation> observed(const Trial& trial, std::size_t place, Direction direction);
    [[nodiscard]] static Observation observed(const Rejection& rejection, std::size_t place);
    [[nodiscard]] static bool lacks(const ParamSet& params, const Dimension& dimension, std::size_t expected);
    [[nodiscard]] bool fits(const ParamSet& params) const;
    [[nodiscard]] bool keeps_ranges(const ParamSet& params);
    void take_in(const Observation& observation, Seed seed);
    void adapt(Seed seed);

    Config config_;
    Tpe tpe_{{.ei_candidates = 12, .kernels = 32}};  // few, because a draw of numbers costs little, too
    CmaRestarts::Strategy strategy_;
    HistoryCursor cursor_;
    std::vector<Dimension> dimensions_;
    std::vector<ModelAxis> axes_;
    std::optional<CmaDistribution> distribution_;
    std::vector<Told> generation_;
    std::int64_t observed_ = 0;
    bool has_others_ = false;  ///< trials have parameters that are no numbers of the model
    CmaRestarts restarts_;
    std::uint64_t restart_count_ = 0;
    std::size_t flat_ = 0;  ///< generations in a row without a difference
    std::map<std::string, std::pair<std::shared_ptr<const Distribution>, int>>
        ranges_;  ///< the latest of each number, and how often it changed
    std::optional<Age> latest_;
};

static_assert(JointSampler<Cmaes> && Configurable<Cmaes>);

inline std::optional<Cmaes::Observation> Cmaes::observed(const Trial& trial, std::size_t place, Direction direction) {
    const double violation = trial.total_violation();
    if (violation <= 0 && (trial.state != TrialState::complete || trial.values.empty() || std::isnan(trial.values[0]))) return std::nullopt;
    const double value = trial.values.empty() || std::isnan(trial.values[0]) ? std::numeric_limits<double>::infinity()
                         : direction == Direction::maximize                  ? -trial.values[0]
                                                                             : trial.values[0];
    const std::int64_t ended = trial.completed ? microseconds_since_epoch(*trial.completed) : std::numeric_limits<std::int64_t>::min();
    return Observation{{ended, place, 0}, &trial.params, {violation, value}, trial.number};
}

inline Cmaes::Observation Cmaes::observed(const Rejection& rejection, std::size_t place) {
    constexpr std::size_t behind_trials = std::numeric_limits<std::size_t>::max();
    const double violation = std::max(rejection.violation, std::numeric_limits<double>::min());
    return {{microseconds_since_epoch(rejection.at), behind_trials, place},
            &rejection.params,
            {violation, std::numeric_limits<double>::infinity()},
            -1};
}

inline void Cmaes::start(const TrialContext& trial) {
    cursor_.restart(trial.history);
    distribution_.reset();
    axes_.clear();
    generation_.clear();
    observed_ = 0;
    has_others_ = false;
    restart_count_ = 0;
    flat_ = 0;
    latest_.reset();
    ranges_.clear();
    if (dimensions_.empty()) return;
    for (const Dimension& dimension : dimensions_) axes_.emplace_back(*dimension.distribution);
    distribution_ = distribution_at(std::vector<double>(dimensions_.size(), 0.5), {static_cast<std::size_t>(config_.population), 1});
    restarts_ = CmaRestarts{strategy_, distribution_->population()};
}

/// True if the parameters do not have a number of the model, whatever its range. `expected` is its probable place.
inline bool Cmaes::lacks(const ParamSet& params, const Dimension& dimension, std::size_t expected) {
    const Param* const param = params.find(dimension.name, expected);
    return !param || (param->distribution != dimension.distribution && !compatible(*param->distribution, *dimension.distribution));
}

inline bool Cmaes::fits(const ParamSet& params) const {
    std::size_t expected = 0;
    return std::none_of(dimensions_.begin(), dimensions_.end(),
                        [&](const Dimension& dimension) { return lacks(params, dimension, expected++); });
}

/// Notes the ranges that a trial has. Returns false if a number had another one so often that it is no number of the model any more: it is
/// left out then.
inline bool Cmaes::keeps_ranges(const ParamSet& params) {
    constexpr int most_changes = 3;
    bool is_kept = true;
    for (std::size_t i = 0; i < dimensions_.size(); ++i) {
        const Param* const param = params.find(dimensions_[i].name, i);
        if (!param) continue;
        auto& [latest, changes] = ranges_[dimensions_[i].name];
        if (latest && latest != param->distribution && *latest != *param->distribution) ++changes;
        latest = param->distribution;
        is_kept = is_kept && changes <= most_changes;
    }
    if (is_kept) return true;
    std::erase_if(dimensions_, [&](const Dimension& dimension) { return ranges_[dimension.name].second > most_changes; });
    return false;
}

inline void Cmaes::follow(const TrialContext& trial) {
    const History& history = trial.history;
    require_objectives(history.directions.size());
    const Direction direction = history.directions.empty() ? Direction::minimize : history.directions[0];
    if (!cursor_.goes_on(history)) {
        dimensions_.clear();
        start(trial);
    }
    for (;;) {  // again from the beginning where the space has become another
        std::vector<Observation> news;
        cursor_.advance(
            history, trial.number,
            [&](std::size_t place) {
                if (auto seen = observed(history.trials[place], place, direction)) news.push_back(*seen);
            },
            [&](std::size_t place) { news.push_back(observed(history.rejections[place], place)); });
        if (news.empty()) return;
        std::sort(news.begin(), news.end(), [](const Observation& a, const Observation& b) { return a.age < b.age; });
        const bool is_first = dimensions_.empty() && observed_ == 0 && !latest_;
        if (is_first) {
            const auto first = std::find_if(news.begin(), news.end(), [](const Observation& each) { return each.number >= 0; });
            if (first == news.end()) return cursor_.restart(history);  // a refused proposal may be of another branch than the trials
            for (const Param& param : *first->params) {
                if (!std::holds_alternative<CategoricalDistribution>(*param.distribution) && !is_single(*param.distribution))
                    dimensions_.push_back({param.name, param.distribution});
            }
        }
        const bool is_late = latest_ && news.front().age < *latest_;
        bool is_other = is_first || is_late;
        if (!is_late) {
            for (const Observation& each : news) {
                if (each.number < 0) continue;  // a refused proposal may be of another branch
                std::size_t expected = 0;
                const auto is_lacking = [&](const Dimension& dimension) { return lacks(*each.params, dimension, expected++); };
                if (std::erase_if(dimensions_, is_lacking) > 0) is_other = true;
                if (!keeps_ranges(*each.params)) is_other = true;
            }
            for (Dimension& dimension : dimensions_) {
                const auto& latest = ranges_[dimension.name].first;
                if (!latest || *latest == *dimension.distribution) continue;
                dimension.distribution = latest;
                is_other = true;
            }
        }
        if (is_other) {
            start(trial);
            latest_ = Age{std::numeric_limits<std::int64_t>::min(), 0, 0};
            continue;
        }
        for (const Observation& each : news) {
            latest_ = std::max(*latest_, each.age);
            has_others_ = has_others_ || each.params->size() > dimensions_.size();
            if (each.number >= 0) ++observed_;
            if (distribution_ && fits(*each.params)) take_in(each, trial.seed);
        }
        return;
    }
}

inline void Cmaes::take_in(const Observation& observation, Seed seed) {
    std::vector<double> point;
    for (std::size_t i = 0; i < dimensions_.size(); ++i)
        point.push_back(unit_of(i, observation.params->find(dimensions_[i].name, i)->internal));
    // What was drawn from this very distribution is drawn again, because the trial has its numbers rounded to their grids.
    if (observation.number >= 0) {
        Rng rng = detail::ProposalSeed{.trial = seed.derive(static_cast<std::uint64_t>(observation.number))}.rng("");
        std::vector<double> drawn = draw(rng);
        std::size_t equal = 0;
        while (equal < drawn.size() &&
               internal_at(equal, drawn[equal]) == observation.params->find(dimensions_[equal].name, equal)->internal)
            ++equal;
        if (equal == drawn.size()) point = std::move(drawn);
    }
    generation_.push_back({std::move(point), observation.rank});
    if (generation_.size() == distribution_->population()) adapt(seed);
}

inline void Cmaes::adapt(Seed seed) {
    std::vector<Told> told = std::exchange(generation_, {});
    restarts_.spend(told.size());
    std::stable_sort(told.begin(), told.end(), [](const Told& a, const Told& b) { return a.rank < b.rank; });
    const bool is_flat = !(told.front().rank < told.back().rank);
    flat_ = is_flat ? flat_ + 1 : 0;
    std::vector<std::vector<double>> points;
    for (Told& each : told) points.push_back(std::move(each.point));
    distribution_->update(points);
    for (std::size_t i = 0; config_.margin && i < axes_.size(); ++i) {
        if (axes_[i].step == 0) continue;
        constexpr double most_thresholds = 10'000;  // finer grids are as good as none
        const double cells = std::round((axes_[i].last - axes_[i].first) / axes_[i].step);
        if (cells > most_thresholds) continue;
        std::vector<double> thresholds;
        for (double k = 0; k < cells; ++k) thresholds.push_back(axes_[i].to_unit(axes_[i].first + (k + 0.5) * axes_[i].step));
        distribution_->keep_margin(i, thresholds);
    }
    const double shortest = 1e-9, most_condition = 1e14;
    const bool is_over = restarts_.is_spent() || distribution_->widest() < shortest || distribution_->condition() > most_condition ||
                         flat_ >= 10 + 30 * dimensions_.size() / distribution_->population();
    if (!restarts_.restarts() || !is_over) return;
    flat_ = 0;
    Rng rng = seed.derive("cmaes").derive(++restart_count_).rng();
    std::vector<double> mean;
    for (std::size_t i = 0; i < dimensions_.size(); ++i) mean.push_back(rng.uniform());
    distribution_ = distribution_at(std::move(mean), restarts_.next(rng));
}

}  // namespace hpo::sampler
