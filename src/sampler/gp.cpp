// SPDX-License-Identifier: MIT
#include "hpo/sampler/gp.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/core/history_cursor.hpp"
#include "hpo/sampler/model_axis.hpp"
#include "hpo/sampler/pareto_fronts.hpp"
#include "hpo/sampler/uniform.hpp"
#include "hpo/space/inferred_space.hpp"
#include "sampler/gp/acquisition.hpp"
#include "sampler/gp/gaussian_process.hpp"
#include "sampler/gp/mixed_search.hpp"
#include "sampler/gp/series.hpp"

namespace hpo::sampler {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using gp::Seen;

constexpr std::size_t most_observed = 500;           ///< of one process
constexpr std::size_t most_fitted = 200;             ///< for its hyperparameters
constexpr const char* refused_proposals = "memory";  ///< the constraint that they violate

/// As many points of a front as some thousand free cells can stand for. Of two objectives, which have a cell for each point, these are all.
std::vector<std::vector<double>> representative(std::vector<std::vector<double>> front) {
    constexpr double most_cells = 4096;
    if (front.empty() || front.front().size() < 2) return front;
    const auto most = static_cast<std::size_t>(std::pow(most_cells, 1 / static_cast<double>(front.front().size() - 1)));
    if (front.size() <= most) return front;
    ParetoFronts all;
    for (std::size_t i = 0; i < front.size(); ++i) all.add({i, front[i]});
    std::vector<std::vector<double>> kept;
    for (const std::size_t i : all.best(most)) kept.push_back(std::move(front[i]));
    return kept;
}

}  // namespace

class Gp::State {
public:
    explicit State(Config config) : config_{config} {}

    void follow(const TrialContext& trial);
    [[nodiscard]] bool has_learned() const { return complete_ >= config_.startup_trials && !dimensions_.empty(); }
    [[nodiscard]] const std::vector<Dimension>& dimensions() const noexcept { return dimensions_; }
    [[nodiscard]] std::vector<gp::Range> ranges() const;
    [[nodiscard]] gp::Range range(std::size_t d, const Distribution& part, const Narrowing& within) const;
    [[nodiscard]] std::optional<std::size_t> place_of(const std::string& parameter, const Distribution& distribution) const;
    [[nodiscard]] double to_unit(std::size_t d, double internal) const {
        const ModelAxis& axis = axes_[d];
        return axis.choices > 0 ? internal : axis.to_unit(internal);
    }
    [[nodiscard]] double to_internal(std::size_t d, double unit) const {
        const ModelAxis& axis = axes_[d];
        return axis.choices > 0 ? unit : axis.to_internal(axis.model_at(unit));
    }
    /// The value of a part of a parameter's range that is nearest to a coordinate.
    [[nodiscard]] double inside(std::size_t d, const Distribution& part, double unit) const {
        return ModelAxis{part}.to_internal(axes_[d].model_at(unit));
    }
    [[nodiscard]] bool has_tried(const ParamSet& params) const {
        const VectorXd point = point_of(params);
        return tried_.contains({point.begin(), point.end()});
    }
    [[nodiscard]] VectorXd propose(const TrialContext& trial, const std::vector<gp::Range>& ranges, Rng& rng);
    /// The variance of the noise in the first objective's values, which have the variance 1.
    [[nodiscard]] double noise(const History& history);

private:
    void take_in_trial(const History& history, std::size_t place);
    void learn_space();
    [[nodiscard]] VectorXd point_of(const ParamSet& params) const;
    [[nodiscard]] MatrixXd points_of(const History& history, const std::vector<Seen>& seen) const;
    [[nodiscard]] MatrixXd pending(const History& history) const;
    [[nodiscard]] double lacking(std::size_t d) const { return is_choice_[d] != 0 ? -1 : 0.5; }
    [[nodiscard]] gp::Settle branches(const History& history) const;
    template <class Scaled>
    void fit(gp::Series& series, const History& history, const Scaled& scaled);
    template <class Scaled>
    [[nodiscard]] gp::GaussianProcess process(gp::Series& series, const History& history, const MatrixXd& running, const Scaled& scaled);

    Config config_;
    HistoryCursor cursor_;
    InferredSpace seen_;
    std::size_t space_ = 0;  ///< another one where the space has changed
    std::vector<Dimension> dimensions_;
    std::vector<ModelAxis> axes_;
    std::vector<char> is_choice_;
    std::int64_t complete_ = 0;
    std::vector<gp::Series> objectives_;
    std::vector<gp::Best> front_;
    std::map<std::string, gp::Series, std::less<>> constraints_;
    std::set<std::vector<double>> tried_;  ///< configurations that have ended; empty if they may be proposed again
    std::vector<std::size_t> ended_;       ///< their trials, if they may not
    std::size_t tried_from_ = 0;           ///< how many of them are in tried_
};

void Gp::State::follow(const TrialContext& trial) {
    const History& history = trial.history;
    const std::size_t objectives = std::max<std::size_t>(1, history.directions.size());
    if (!cursor_.goes_on(history) || objectives_.size() != objectives) {
        *this = State{config_};
        objectives_.resize(objectives);
        cursor_.restart(history);
    }
    const std::size_t before = space_;
    cursor_.advance(
        history, trial.number, [&](std::size_t place) { take_in_trial(history, place); },
        [&](std::size_t place) {
            const Rejection& rejection = history.rejections[place];
            const double violation = std::max(rejection.violation, std::numeric_limits<double>::min());
            if (!std::isnan(violation)) constraints_[refused_proposals].add({rejection.at, place, true, violation}, violation);
        });
    const std::size_t first_new = space_ == before ? tried_from_ : 0;
    if (space_ != before) learn_space();
    if (!config_.repeat) {
        const auto is_endless = [](const ModelAxis& axis) { return axis.choices == 0 && axis.step == 0; };
        if (first_new == 0) tried_.clear();
        if (std::any_of(axes_.begin(), axes_.end(), is_endless)) return;
        for (tried_from_ = first_new; tried_from_ < ended_.size(); ++tried_from_) {
            const VectorXd point = point_of(history.trials[ended_[tried_from_]].params);
            tried_.emplace(point.begin(), point.end());
        }
    }
}

void Gp::State::learn_space() {
    dimensions_.clear(), axes_.clear(), is_choice_.clear();
    for (Dimension& dimension : seen_.dimensions()) {
        if (is_single(*dimension.distribution)) continue;
        axes_.emplace_back(*dimension.distribution);
        is_choice_.push_back(axes_.back().choices > 0);
        dimensions_.push_back(std::move(dimension));
    }
}

void Gp::State::take_in_trial(const History& history, std::size_t place) {
    const Trial& trial = history.trials[place];
    if (!config_.repeat && !trial.params.empty()) ended_.push_back(place);
    const bool has_values = trial.state == TrialState::complete && trial.values.size() == objectives_.size() &&
                            std::none_of(trial.values.begin(), trial.values.end(), [](double value) { return std::isnan(value); });
    if (!has_values && trial.feasible()) return;
    if (seen_.take_in(trial.params)) ++space_;
    const Seen seen{trial.completed.value_or(Time{}), place, false};
    for (const auto& [name, value] : trial.constraints) {
        Seen constraint = seen;
        constraint.value = value;
        if (!std::isnan(value)) constraints_[name].add(constraint, std::fabs(value));
    }
    if (!has_values) return;
    ++complete_;
    gp::Best best{{}, seen};
    for (std::size_t m = 0; m < objectives_.size(); ++m) {
        Seen objective = seen;
        const bool is_maximised = m < history.directions.size() && history.directions[m] == Direction::maximize;
        objective.value = is_maximised ? -trial.values[m] : trial.values[m];
        objectives_[m].add(objective, objective.value);
        best.values.push_back(objective.value);
    }
    if (!trial.feasible() ||
        std::any_of(front_.begin(), front_.end(), [&](const gp::Best& other) { return dominates(other.values, best.values); }))
        return;
    std::erase_if(front_, [&](const gp::Best& other) { return dominates(best.values, other.values); });
    front_.push_back(std::move(best));
}

std::optional<std::size_t> Gp::State::place_of(const std::string& parameter, const Distribution& distribution) const {
    for (std::size_t d = 0; d < dimensions_.size(); ++d) {
        if (dimensions_[d].name == parameter)
            return *dimensions_[d].distribution == distribution || compatible(*dimensions_[d].distribution, distribution) ? std::optional{d}
                                                                                                                          : std::nullopt;
    }
    return std::nullopt;
}

/// The coordinates of a configuration. A parameter that it lacks stands in the middle; a choice that it lacks is none of the choices.
VectorXd Gp::State::point_of(const ParamSet& params) const {
    VectorXd point(static_cast<Index>(dimensions_.size()));
    for (std::size_t d = 0; d < dimensions_.size(); ++d) {
        const Param* const param = params.find(dimensions_[d].name, d);
        point[static_cast<Index>(d)] =
            param && compatible(*param->distribution, *dimensions_[d].distribution) ? to_unit(d, param->internal) : lacking(d);
    }
    return point;
}

MatrixXd Gp::State::points_of(const History& history, const std::vector<Seen>& seen) const {
    MatrixXd points(static_cast<Index>(seen.size()), static_cast<Index>(dimensions_.size()));
    for (std::size_t i = 0; i < seen.size(); ++i) points.row(static_cast<Index>(i)) = point_of(seen[i].params(history));
    return points;
}

/// Which parameters a configuration has follows from others, as far as trials show: parameter d depends on an earlier one with few values,
/// or that may be lacking itself, if d was always there, or never, for each of its values.
gp::Settle Gp::State::branches(const History& history) const {
    constexpr double none = -1;             // stands for a parameter that is lacking
    std::vector<std::vector<double>> rows;  // by trial: values, or none
    std::vector<char> is_partial(dimensions_.size());
    for (const Seen& each : objectives_.front().chosen(objectives_.front().seen.size(), most_observed)) {
        std::vector<double>& row = rows.emplace_back();
        for (std::size_t d = 0; d < dimensions_.size(); ++d) {
            const Param* const param = each.params(history).find(dimensions_[d].name, d);
            row.push_back(param ? to_unit(d, param->internal) : none);
            if (!param) is_partial[d] = 1;
        }
    }
    struct Absence {
        std::size_t of, beside;
        bool of_any_number;       ///< `beside` has too many values: only whether it is there counts
        std::set<double> values;  ///< of `beside`
    };
    std::vector<Absence> absences;
    for (std::size_t d = 0; d < dimensions_.size(); ++d) {
        for (std::size_t beside = 0; is_partial[d] != 0 && beside < d; ++beside) {
            const bool of_any_number = axes_[beside].choices == 0 && axes_[beside].step == 0;
            if (of_any_number && is_partial[beside] == 0) continue;
            std::set<double> there, absent;
            for (const std::vector<double>& row : rows)
                (row[d] == none ? absent : there).insert(of_any_number && row[beside] != none ? 0 : row[beside]);
            const bool depends = std::none_of(absent.begin(), absent.end(), [&](double each) { return there.contains(each); });
            if (depends) absences.push_back({d, beside, of_any_number, std::move(absent)});
        }
    }
    if (absences.empty()) return [](VectorXd&) {};
    return [this, absences](VectorXd& point) {
        std::vector<char> is_absent(dimensions_.size());
        for (const Absence& each : absences) {  // in the order of `of`, so that what it depends on is known
            const double value = is_absent[each.beside] != 0 ? none : each.of_any_number ? 0 : point[static_cast<Index>(each.beside)];
            if (each.values.contains(value)) is_absent[each.of] = 1;
        }
        for (std::size_t d = 0; d < is_absent.size(); ++d) {
            if (is_absent[d] != 0) point[static_cast<Index>(d)] = lacking(d);
        }
    };
}

MatrixXd Gp::State::pending(const History& history) const {
    constexpr std::size_t most = 100;
    std::vector<VectorXd> points;
    for (auto place = cursor_.open().rbegin(); place != cursor_.open().rend() && points.size() < most; ++place) {
        const Trial& trial = history.trials[*place];
        if (trial.state == TrialState::running && !trial.params.empty()) points.push_back(point_of(trial.params));
    }
    MatrixXd rows(static_cast<Index>(points.size()), static_cast<Index>(dimensions_.size()));
    for (std::size_t i = 0; i < points.size(); ++i) rows.row(static_cast<Index>(i)) = points[i];
    return rows;
}

gp::Range Gp::State::range(std::size_t d, const Distribution& part, const Narrowing& within) const {
    gp::Range range;
    const ModelAxis axis{part};
    if (axis.choices > 0) {
        range.is_choice = true;
        for (std::size_t i = 0; i < axis.choices; ++i) {
            if (within.allowed.empty() || within.allowed[i]) range.values.push_back(static_cast<double>(i));
        }
        return range;
    }
    range.low = to_unit(d, axis.first);
    range.high = to_unit(d, axis.last);
    constexpr double most_values = 1000;  // a finer grid is searched as if it were none
    if (axis.step > 0 && (axis.last - axis.first) / axis.step < most_values) {
        for (double k = 0; k <= std::round((axis.last - axis.first) / axis.step); ++k)
            range.values.push_back(to_unit(d, std::min(axis.first + k * axis.step, axis.last)));
    }
    return range;
}

std::vector<gp::Range> Gp::State::ranges() const {
    std::vector<gp::Range> all;
    for (std::size_t d = 0; d < dimensions_.size(); ++d) all.push_back(range(d, *dimensions_[d].distribution, {}));
    return all;
}

/// Fits the kernel of an objective or a constraint, where more is known since. `scaled(seen)` gives the values of observations as the model
/// has them.
template <class Scaled>
void Gp::State::fit(gp::Series& series, const History& history, const Scaled& scaled) {
    const std::size_t count = gp::fitted_count(series.seen.size());
    if (series.fitted_from == count && series.fitted_space == space_) return;
    const std::vector<Seen> first = series.chosen(count, most_fitted);
    series.kernel = gp::fitted_kernel({points_of(history, first), scaled(first)}, is_choice_, !config_.deterministic);
    series.fitted_from = count;
    series.fitted_space = space_;
}

double Gp::State::noise(const History& history) {
    fit(objectives_.front(), history, [&](const auto& seen) { return gp::Standard{seen, config_.power_transform}(seen); });
    return objectives_.front().kernel.noise;
}

/// What is known of an objective or a constraint.
template <class Scaled>
gp::GaussianProcess Gp::State::process(gp::Series& series, const History& history, const MatrixXd& running, const Scaled& scaled) {
    fit(series, history, scaled);
    const std::vector<Seen> seen = series.chosen(series.seen.size(), most_observed);
    return {{points_of(history, seen), scaled(seen)}, running, series.kernel, is_choice_};
}

/// Where the volume below a front ends in one objective: a little beyond the worst value of the front, so that points at its ends count,
/// and far ones do not count for all (Ishibuchi et al. 2018, "How to specify a reference point in hypervolume calculation for fair
/// performance comparison"). How far was measured with ZDT 1 to 3, DTLZ2 and a network's error and time. `worst` is that of all trials, for
/// a front of one value.
double reference_of(const std::vector<std::vector<double>>& front, std::size_t objective, double worst) {
    const double share = front.front().size() > 2 ? 0.1 : 0.5;
    const auto [least, greatest] =
        std::ranges::minmax_element(front, {}, [&](const std::vector<double>& point) { return point[objective]; });
    const double low = (*least)[objective], high = (*greatest)[objective];
    return front.size() > 1 && high > low ? std::min(high + share * (high - low), reference_beyond(worst)) : reference_beyond(worst);
}

VectorXd Gp::State::propose(const TrialContext& trial, const std::vector<gp::Range>& ranges, Rng& rng) {
    const History& history = trial.history;
    const MatrixXd running = pending(history);
    std::vector<gp::GaussianProcess> objectives;
    std::vector<std::vector<double>> front(front_.size());
    std::vector<double> worst, reference;
    for (std::size_t m = 0; m < objectives_.size() && !front_.empty(); ++m) {
        std::optional<gp::Standard> standard;  // the last one, of all that the process observes
        objectives.push_back(process(objectives_[m], history, running,
                                     [&](const auto& seen) { return standard.emplace(seen, config_.power_transform)(seen); }));
        for (std::size_t i = 0; i < front_.size(); ++i) front[i].push_back((*standard)(front_[i].values[m]));
        worst.push_back(standard->worst());
    }
    for (std::size_t m = 0; m < worst.size(); ++m) reference.push_back(reference_of(front, m, worst[m]));
    front = representative(std::move(front));
    for (Index i = 0; i < running.rows() && !objectives.empty(); ++i) {  // what runs is believed to end as predicted
        std::vector<double>& expected = front.emplace_back();
        for (const gp::GaussianProcess& objective : objectives) expected.push_back(objective.at(running.row(i)).mean);
    }
    std::vector<gp::Acquisition::Constraint> constraints;
    for (auto& [name, series] : constraints_) {
        double threshold = 0;
        const auto scaled = [&](const std::vector<Seen>& seen) {
            const std::vector<Seen> near = gp::pressed(seen);
            const gp::Standard standard{near, false};
            threshold = standard.zero();
            return standard(near);
        };
        constraints.push_back({process(series, history, running, scaled), threshold});
    }
    constexpr std::size_t most_best = 20;
    MatrixXd best(static_cast<Index>(std::min(front_.size(), most_best)), static_cast<Index>(dimensions_.size()));
    for (Index i = 0; i < best.rows(); ++i)
        best.row(i) = point_of(front_[front_.size() - 1 - static_cast<std::size_t>(i)].seen.params(history));
    const gp::Acquisition acquisition{std::move(objectives), reference.empty() ? std::vector<FreeCell>{} : free_cells(front, reference),
                                      std::move(constraints), branches(history)};
    const auto is_tried = [&](const VectorXd& point) {
        if (tried_.contains({point.begin(), point.end()})) return true;
        for (Index i = 0; i < running.rows() && !tried_.empty(); ++i) {
            if (running.row(i).transpose() == point) return true;
        }
        return false;
    };
    const std::size_t observed = objectives_.front().seen.size();
    const std::size_t candidates = observed <= 200 ? 1536 : 768;
    return gp::most_promising(acquisition, ranges, best, candidates, is_tried, rng);
}

Gp::Gp(Config config) : state_{std::make_unique<State>(config)} { require_at_least<0>("startup_trials", config.startup_trials); }
Gp::Gp(const Gp& other) : state_{std::make_unique<State>(*other.state_)} {}
Gp& Gp::operator=(const Gp& other) { return *this = Gp{other}; }
Gp::Gp(Gp&&) noexcept = default;
Gp& Gp::operator=(Gp&&) noexcept = default;
Gp::~Gp() = default;

bool Gp::has_ended(const TrialContext& trial, const ParamSet& params) {
    state_->follow(trial);
    return !params.empty() && state_->has_tried(params);
}

std::optional<double> Gp::noise_share(const TrialContext& trial) {
    state_->follow(trial);
    if (!state_->has_learned()) return std::nullopt;
    return state_->noise(trial.history);
}

ParamSet Gp::suggest_joint(const TrialContext& trial, Rng& rng) {
    state_->follow(trial);
    ParamSet drawn;
    if (!state_->has_learned()) return drawn;
    const VectorXd point = state_->propose(trial, state_->ranges(), rng);
    const std::vector<Dimension>& space = state_->dimensions();
    drawn.reserve(space.size());
    for (std::size_t d = 0; d < space.size(); ++d)
        drawn.append({space[d].name, space[d].distribution, state_->to_internal(d, point[static_cast<Index>(d)])});
    return drawn;
}

double Gp::suggest(const Ask& ask) {
    state_->follow(ask.trial);
    const auto part = narrowed(ask.distribution, ask.within);
    const auto place = state_->place_of(ask.name, ask.distribution);
    if (!state_->has_learned() || !place || is_single(*part)) return draw_uniform(ask.distribution, ask.within, ask.rng);
    std::vector<gp::Range> ranges = state_->ranges();
    for (const Param& param : ask.fixed) {
        const auto known = state_->place_of(param.name, *param.distribution);
        if (known) ranges[*known].values = {state_->to_unit(*known, param.internal)};
    }
    ranges[*place] = state_->range(*place, *part, ask.within);
    const double unit = state_->propose(ask.trial, ranges, ask.rng)[static_cast<Index>(*place)];
    return ranges[*place].is_choice ? unit : state_->inside(*place, *part, unit);
}

}  // namespace hpo::sampler
