// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/core/history.hpp"
#include "hpo/sampler/tpe_growing_kernels.hpp"
#include "hpo/sampler/tpe_parzen_estimator.hpp"
#include "hpo/sampler/tpe_split.hpp"
#include "hpo/space/inferred_space.hpp"

namespace hpo::sampler {

namespace tpe_detail {

/// exp(x) of numbers x <= 0, to about 1e-15; below -700 it is exp(-700). Only additions and multiplications: a program that is not built
/// for processors with fused ones gets the same bits on each x86-64. Several pairs at once, because each step waits for the one before it.
struct FourPairs {
    Pair at[4];
};
[[nodiscard]] inline FourPairs exp_below_zero(const FourPairs& x) {
    constexpr double shift = 0x1.8p52;  // adding it rounds to a whole number, which is then in the lowest bits
    constexpr std::array inverse_factorials{1 / 39916800.0, 1 / 3628800.0, 1 / 362880.0, 1 / 40320.0, 1 / 5040.0, 1 / 720.0,
                                            1 / 120.0,      1 / 24.0,      1 / 6.0,      1 / 2.0,     1.0,        1.0};
    FourPairs shifted, rest, sum;
    for (std::size_t i = 0; i < 4; ++i) {
        const Pair bounded = x.at[i] < -700.0 ? Pair{-700.0, -700.0} : x.at[i];
        shifted.at[i] = bounded * 0x1.71547652b82fep0 + shift;
        const Pair whole = shifted.at[i] - shift;
        rest.at[i] = (bounded - whole * 0x1.62e42fefa0000p-1) - whole * 0x1.cf79abc9e3b3ap-40;  // in [-log(2) / 2, log(2) / 2]
        sum.at[i] = Pair{} + 1.0 / 479001600;                                                   // Taylor's series
    }
#pragma GCC unroll 12
    for (const double inverse : inverse_factorials) {
#pragma GCC unroll 4
        for (std::size_t i = 0; i < 4; ++i) sum.at[i] = sum.at[i] * rest.at[i] + inverse;
    }
    for (std::size_t i = 0; i < 4; ++i)
        sum.at[i] *= std::bit_cast<Pair>((std::bit_cast<PairOfBits>(shifted.at[i]) << 52U) + (std::uint64_t{1023} << 52U));
    return sum;
}

}  // namespace tpe_detail

/// What TPE has observed in a study, kept between its draws: the best observations, and the density of the others.
///
/// A call continues where the last one ended. It looks at trials that are new and at those that had not ended. If the history is no
/// continuation of the last one, everything is computed from its beginning. So the answers are always those of the whole history.
/// The rules of the split are tpe_split's, those of the density TpeParzenEstimator's. Thread safety: none. A copy is independent.
///
/// If `most_kernels` is not 0, about so many of the others have a kernel, and as many refused proposals: half of them are the latest ones,
/// half a sample of the older ones, which then weigh as much as all older ones. So a draw costs no more in a long study. Which ones they
/// are follows from their numbers.
class TpeObservations {
public:
    TpeObservations(double gamma, double prior_weight, std::size_t most_kernels = 0)
        : gamma_{gamma}, prior_weight_{prior_weight}, most_kernels_{most_kernels} {
        reset();
    }

    /// Takes in what is new. `number` is the trial that is drawn for, which is not observed. O(new * parameters * n) comparisons and moves,
    /// and n logarithms, for n observations that have a kernel.
    void follow(const History& history, std::int64_t number);

    /// Trials that are complete or pruned.
    [[nodiscard]] std::int64_t learned_from() const noexcept { return learned_from_; }

    /// The parameters that all observations together have, in order of first appearance. Those are left out whose distributions are not
    /// compatible.
    [[nodiscard]] std::vector<Dimension> space() const;

    /// The parameters of the good observations, from oldest to newest. Valid as long as the history.
    [[nodiscard]] std::vector<const ParamSet*> good(const History& history) const;

    /// The latest distribution of a parameter of space(). Null for another one.
    [[nodiscard]] const Distribution* latest(std::string_view name) const;

    /// The log density of the other observations at points. points[i] holds the internal values of parameter names[i], which must be in
    /// space() and must not be of one value.
    [[nodiscard]] std::vector<double> log_density_of_others(std::span<const std::string_view> names,
                                                            const std::vector<std::vector<double>>& points);

    /// Rows of observations that it has room for, one more than the most that had a kernel at once.
    [[nodiscard]] std::size_t rows() const noexcept { return rows_.size(); }

private:
    /// The order in which observations came: trials by their number, a rejection before the first trial that began after it.
    struct Age {
        std::size_t trial = 0;
        std::size_t rejection = 0;  ///< counted from 1; of a trial more than of any rejection
        friend bool operator<(const Age& a, const Age& b) { return a.trial != b.trial ? a.trial < b.trial : a.rejection < b.rejection; }
    };
    static constexpr std::size_t no_rejection = std::numeric_limits<std::size_t>::max();
    struct Row {
        TpeRank rank{};
        Age age{};
        [[nodiscard]] bool is_better(const Row& other) const {
            if (rank < other.rank) return true;
            return !(other.rank < rank) && age < other.age;
        }
    };
    /// Which of a series of observations have a kernel, besides the best: those from `first` on, and a sample of those before.
    struct Kept {
        std::size_t first = 0;
        std::uint64_t most = std::numeric_limits<std::uint64_t>::max();  ///< the greatest hash of a number in the sample

        Kept() = default;
        /// Of `count` observations, of which about `wanted` are kept. It changes with every 64th, so that seldom a sample is taken.
        Kept(std::size_t count, std::size_t wanted) {
            constexpr std::size_t stride = 64;
            if (wanted == 0 || count < wanted + stride) return;
            first = (count - wanted / 2) / stride * stride;
            most = static_cast<std::uint64_t>(std::ldexp(static_cast<double>(wanted / 2) / static_cast<double>(first), 64));
        }
        [[nodiscard]] bool holds(std::size_t number) const { return number >= first || Seed{}.derive(number).value <= most; }
        friend bool operator==(const Kept&, const Kept&) = default;
    };
    struct Axis {
        std::shared_ptr<const Distribution> distribution;
        std::size_t trial = 0;                        ///< whose distribution it is
        std::pair<std::size_t, std::size_t> first{};  ///< the first trial that has the parameter, and its place there
        std::size_t observed = 0;                     ///< trials that have the parameter
        bool has_changed = false;                     ///< it had another distribution before, or has one in another trial
        bool is_mixed = false;                        ///< its distributions are not compatible
        std::vector<double> values;                   ///< by row; NaN: the observation lacks it
        std::optional<TpeGrowingKernels> kernels{};
        std::size_t up_to_date = 0;  ///< counts_version_ of the kernels
    };
    /// Shows whether a trial is still the one that was taken in at its place. Numbers as their bits, so that NaN equals itself.
    struct Mark {
        std::int64_t id = 0;
        std::int64_t number = 0;
        TrialState state{};
        std::optional<Time> completed{};
        std::uint64_t value = 0;
        std::uint64_t first_parameter = 0;
        std::uint64_t violation = 0;
        friend bool operator==(const Mark&, const Mark&) = default;
    };
    static Mark mark_of(const Trial& trial) {
        const auto bits = [](double number) { return std::bit_cast<std::uint64_t>(number); };
        return {.id = trial.id,
                .number = trial.number,
                .state = trial.state,
                .completed = trial.completed,
                .value = bits(trial.values.empty() ? 0 : trial.values[0]),
                .first_parameter = bits(trial.params.empty() ? 0 : trial.params.begin()->internal),
                .violation = bits(trial.total_violation())};
    }

    static constexpr double lacking = std::numeric_limits<double>::quiet_NaN();

    void reset();
    [[nodiscard]] bool goes_on(const History& history) const;
    void take_in_all(const History& history, std::int64_t number);
    [[nodiscard]] std::size_t new_row(Age age);
    void take_in(const History& history, std::size_t place);
    /// Leaves out the trial that is drawn for, until another one is.
    void leave_out(std::size_t place);
    void take_in_rejection(const History& history, std::size_t place);
    void take_in_axes(const History& history, std::size_t place);
    [[nodiscard]] bool is_out_of_order(const History& history, std::size_t place);
    void set_values(std::size_t row, const ParamSet* params);
    void set_value(Axis& axis, std::size_t row, double value);
    void rank_best(std::size_t row);
    void forget(std::size_t row);
    [[nodiscard]] bool is_kept(std::size_t row) const;
    [[nodiscard]] bool is_older(std::size_t row) const;
    [[nodiscard]] bool may_drop(std::size_t row) const;
    void drop(std::size_t row);
    void thin_out(const History& history, bool is_new);
    void split();
    TpeGrowingKernels& kernels_of(Axis& axis);
    [[nodiscard]] static bool is_modelled(const Axis& axis) { return !axis.is_mixed && axis.observed > 0; }

    double gamma_;
    double prior_weight_;
    std::size_t most_kernels_;
    std::string study_;
    std::vector<Direction> directions_;
    std::vector<std::uint32_t> row_of_trial_;      ///< 0: it has none
    std::vector<std::size_t> open_;                ///< trials that had not ended
    std::vector<std::uint32_t> row_of_rejection_;  ///< 0: it has no kernel
    std::vector<std::size_t> trial_after_rejection_;
    Kept kept_trials_, kept_rejections_;
    std::size_t older_dropped_ = 0;  ///< observations that have no row
    std::optional<std::pair<std::size_t, Mark>> first_ended_, last_ended_;
    std::optional<Time> last_rejection_;
    std::size_t last_rejection_place_ = 0;  ///< Age::trial
    std::vector<std::size_t> at_end_;       ///< rejections after which no observed trial has begun
    bool must_start_anew_ = false;          ///< what was taken in was undone, or came earlier than it was taken in
    std::int64_t learned_from_ = 0;
    std::size_t finished_ = 0;  ///< trials that are observed and have ended

    std::vector<Row> rows_;                 ///< the first is the prior
    std::vector<std::uint32_t> free_rows_;  ///< of observations that were forgotten
    std::vector<std::uint32_t> by_age_;     ///< rows that are observed
    std::vector<std::uint32_t> best_;       ///< at most 25, the best first; of several objectives none that is complete
    ParetoFronts fronts_;                   ///< of several objectives; the members by their place among trials
    std::map<std::string, Axis, std::less<>> axes_;

    std::vector<char> counts_;         ///< by row: it is one of the others
    std::vector<std::uint32_t> age_;   ///< by row: how many of the others are older
    std::size_t counts_version_ = 1;   ///< another one if counts_ or a value changed
    bool is_changed_ = true;           ///< an observation has come, gone or changed since the last split
    std::vector<double> log_weights_;  ///< by row, in whole blocks
    std::vector<Age> good_;            ///< from oldest to newest
};

inline void TpeObservations::reset() {
    study_.clear(), directions_.clear(), row_of_trial_.clear(), open_.clear(), row_of_rejection_.clear();
    first_ended_.reset(), last_ended_.reset(), last_rejection_.reset();
    last_rejection_place_ = 0, must_start_anew_ = false, at_end_.clear();
    learned_from_ = 0, finished_ = 0;
    rows_.assign(1, Row{});
    free_rows_.clear(), by_age_.clear(), best_.clear(), fronts_ = {}, axes_.clear();
    trial_after_rejection_.clear(), kept_trials_ = {}, kept_rejections_ = {}, older_dropped_ = 0;
    is_changed_ = true;
}

inline bool TpeObservations::goes_on(const History& history) const {
    const auto is_same = [&](const std::optional<std::pair<std::size_t, Mark>>& ended) {
        return !ended || (ended->first < history.trials.size() && mark_of(history.trials[ended->first]) == ended->second);
    };
    return history.study == study_ &&
           std::equal(history.directions.begin(), history.directions.end(), directions_.begin(), directions_.end()) &&
           history.trials.size() >= row_of_trial_.size() && history.rejections.size() >= row_of_rejection_.size() &&
           is_same(first_ended_) && is_same(last_ended_) &&
           (!last_rejection_ || history.rejections[row_of_rejection_.size() - 1].at == *last_rejection_);
}

inline void TpeObservations::follow(const History& history, std::int64_t number) {
    bool is_new = false;
    const auto start = [&] {
        is_new = true;
        reset();
        kept_trials_ = Kept{history.trials.size(), most_kernels_};  // so that others are dropped while they are read
        kept_rejections_ = Kept{history.rejections.size(), most_kernels_};
        study_ = history.study;
        directions_.assign(history.directions.begin(), history.directions.end());
    };
    if (!goes_on(history)) start();
    take_in_all(history, number);
    if (must_start_anew_) {
        start();
        take_in_all(history, number);
    }
    thin_out(history, is_new);
    split();
}

inline void TpeObservations::take_in_all(const History& history, std::int64_t number) {
    const std::vector<std::size_t> before = std::exchange(open_, {});
    const auto look_at = [&](std::size_t place) {
        if (history.trials[place].number == number) leave_out(place);
        else take_in(history, place);
    };
    for (const std::size_t place : before) look_at(place);
    while (row_of_trial_.size() < history.trials.size()) {
        row_of_trial_.push_back(0);
        look_at(row_of_trial_.size() - 1);
    }
    while (row_of_rejection_.size() < history.rejections.size()) take_in_rejection(history, row_of_rejection_.size());
}

inline std::size_t TpeObservations::new_row(Age age) {
    std::uint32_t row = 0;
    if (free_rows_.empty()) {
        row = static_cast<std::uint32_t>(rows_.size());
        rows_.emplace_back();
        for (auto& [name, axis] : axes_) {
            axis.values.push_back(lacking);
            if (axis.kernels) axis.kernels->set(row, lacking);
        }
    } else {
        row = free_rows_.back();
        free_rows_.pop_back();
    }
    rows_[row] = {.rank = {}, .age = age};
    const auto older = [&](std::uint32_t a, std::uint32_t b) { return rows_[a].age < rows_[b].age; };
    by_age_.insert(std::upper_bound(by_age_.begin(), by_age_.end(), row, older), row);
    is_changed_ = true;
    return row;
}

inline void TpeObservations::leave_out(std::size_t place) {
    open_.push_back(place);
    if (row_of_trial_[place] == 0) return;
    if (rows_[row_of_trial_[place]].rank.kind != TpeRank::Kind::running) must_start_anew_ = true;
    forget(std::exchange(row_of_trial_[place], 0U));
}

inline void TpeObservations::take_in(const History& history, std::size_t place) {
    const Trial& trial = history.trials[place];
    if (is_finished(trial.state)) {
        if (trial.state != TrialState::fail) ++learned_from_;
        if (!first_ended_) first_ended_.emplace(place, mark_of(trial));
        last_ended_.emplace(place, mark_of(trial));
    } else {
        open_.push_back(place);
    }
    if (!tpe_observes(trial)) {
        if (row_of_trial_[place] != 0) forget(std::exchange(row_of_trial_[place], 0U));
        return;
    }
    if (row_of_trial_[place] == 0) {
        if (is_out_of_order(history, place)) must_start_anew_ = true;
        row_of_trial_[place] = static_cast<std::uint32_t>(new_row({place, no_rejection}));
    }
    const std::size_t row = row_of_trial_[place];
    take_in_axes(history, place);
    set_values(row, &tpe_params(trial));
    if (trial.state == TrialState::running) return;
    ++finished_;
    is_changed_ = true;
    rows_[row].rank = tpe_rank(trial, directions_.empty() ? Direction::minimize : directions_[0]);
    if (directions_.size() < 2) rank_best(row);
    else if (auto losses = tpe_objectives(trial, directions_)) fronts_.add({place, std::move(*losses)});
    else if (rows_[row].rank.kind != TpeRank::Kind::complete) rank_best(row);
    if (row_of_trial_[place] != 0 && may_drop(row)) drop(row);  // it ran for long
}

/// True if a rejection stands on the wrong side of a trial that was no observation when the rejection was taken in.
inline bool TpeObservations::is_out_of_order(const History& history, std::size_t place) {
    const std::optional<Time>& started = history.trials[place].started;
    const auto began_later = [&](std::size_t rejection) { return started && *started > history.rejections[rejection].at; };
    for (const std::size_t rejection : at_end_) {
        std::size_t& before = trial_after_rejection_[rejection];
        if (before > place) break;
        if (!began_later(rejection)) return true;
        before = place;
        if (row_of_rejection_[rejection] != 0) rows_[row_of_rejection_[rejection]].age.trial = place;
    }
    std::erase_if(at_end_, [&](std::size_t rejection) { return trial_after_rejection_[rejection] == place; });
    for (std::size_t i = row_of_rejection_.size(); i > 0 && trial_after_rejection_[i - 1] > place; --i) {
        if (began_later(i - 1)) return true;
    }
    return false;
}

inline void TpeObservations::take_in_rejection(const History& history, std::size_t place) {
    const Rejection& rejection = history.rejections[place];
    std::size_t before = last_rejection_place_;
    while (before < history.trials.size()) {
        const Trial& trial = history.trials[before];
        if (row_of_trial_[before] != 0 && trial.started && *trial.started > rejection.at) break;
        ++before;
    }
    last_rejection_place_ = before;
    const std::size_t row = new_row({before, place + 1});
    row_of_rejection_.push_back(static_cast<std::uint32_t>(row));
    trial_after_rejection_.push_back(before);
    if (before == history.trials.size()) at_end_.push_back(place);
    last_rejection_ = rejection.at;
    rows_[row].rank = tpe_rank(rejection);
    set_values(row, &rejection.params);
    rank_best(row);
    if (row_of_rejection_[place] != 0 && may_drop(row)) drop(row);
}

inline void TpeObservations::take_in_axes(const History& history, std::size_t place) {
    std::size_t position = 0;
    for (const Param& param : history.trials[place].params) {
        const std::pair here{place, position++};
        auto found = axes_.find(param.name);
        if (found == axes_.end()) {
            found = axes_
                        .emplace(param.name, Axis{.distribution = param.distribution,
                                                  .trial = place,
                                                  .first = here,
                                                  .values = std::vector<double>(rows_.size(), lacking)})
                        .first;
            for (std::size_t i = 0; i < row_of_rejection_.size(); ++i) {
                const Param* const refused = row_of_rejection_[i] != 0 ? history.rejections[i].params.find(param.name) : nullptr;
                if (refused) found->second.values[row_of_rejection_[i]] = refused->internal;
            }
            is_changed_ = true;
        }
        Axis& axis = found->second;
        axis.first = std::min(axis.first, here);
        if (axis.distribution == param.distribution || *axis.distribution == *param.distribution) {
            axis.trial = std::max(axis.trial, place);
            continue;
        }
        axis.has_changed = true;
        if (!compatible(*axis.distribution, *param.distribution)) axis.is_mixed = true;
        if (place < axis.trial) continue;
        axis.distribution = param.distribution;
        axis.trial = place;
        axis.kernels.reset();
        is_changed_ = true;
    }
}

inline void TpeObservations::set_values(std::size_t row, const ParamSet* params) {
    std::size_t place = 0;  // most trials have their parameters in the same order, and this map has them by name
    for (auto& [name, axis] : axes_) {
        const Param* const param = params ? params->find(name, place++) : nullptr;
        set_value(axis, row, param ? param->internal : lacking);
    }
}

inline void TpeObservations::set_value(Axis& axis, std::size_t row, double value) {
    double& known = axis.values[row];
    if (known == value || (std::isnan(known) && std::isnan(value))) return;
    if (rows_[row].age.rejection == no_rejection)
        axis.observed += std::isnan(known) ? 1U : std::isnan(value) ? static_cast<std::size_t>(-1) : 0U;
    known = value;
    if (axis.kernels) axis.kernels->set(row, value);
    is_changed_ = true;
}

inline void TpeObservations::rank_best(std::size_t row) {
    const auto is_better = [&](std::uint32_t a, std::uint32_t b) { return rows_[a].is_better(rows_[b]); };
    const auto id = static_cast<std::uint32_t>(row);
    best_.insert(std::upper_bound(best_.begin(), best_.end(), id, is_better), id);
    if (best_.size() > tpe_most_good) {
        const std::uint32_t last = best_.back();
        best_.pop_back();
        if (!is_kept(last)) drop(last);
    }
    is_changed_ = true;
}

inline void TpeObservations::forget(std::size_t row) {
    for (const auto& [name, axis] : axes_) {
        if (std::isnan(axis.values[row])) continue;
        if (axis.has_changed || axis.first.first == rows_[row].age.trial) must_start_anew_ = true;  // perhaps by this trial
    }
    const std::size_t place = rows_[row].age.trial;
    for (std::size_t i = row_of_rejection_.size(); i > 0 && trial_after_rejection_[i - 1] >= place; --i) {
        if (trial_after_rejection_[i - 1] == place) must_start_anew_ = true;  // its place was before this trial
    }
    std::erase(by_age_, static_cast<std::uint32_t>(row));
    set_values(row, nullptr);
    free_rows_.push_back(static_cast<std::uint32_t>(row));
    is_changed_ = true;
}

inline bool TpeObservations::is_older(std::size_t row) const {
    const Age& age = rows_[row].age;
    return age.rejection == no_rejection ? age.trial < kept_trials_.first : age.rejection - 1 < kept_rejections_.first;
}

inline bool TpeObservations::is_kept(std::size_t row) const {
    const Age& age = rows_[row].age;
    return age.rejection == no_rejection ? kept_trials_.holds(age.trial) : kept_rejections_.holds(age.rejection - 1);
}

inline bool TpeObservations::may_drop(std::size_t row) const {
    return rows_[row].rank.kind != TpeRank::Kind::running && !is_kept(row) &&
           std::find(best_.begin(), best_.end(), static_cast<std::uint32_t>(row)) == best_.end();
}

/// Takes the row of an observation away. It still counts as one that was observed.
inline void TpeObservations::drop(std::size_t row) {
    const Age age = rows_[row].age;
    (age.rejection == no_rejection ? row_of_trial_[age.trial] : row_of_rejection_[age.rejection - 1]) = 0;
    std::erase(by_age_, static_cast<std::uint32_t>(row));
    for (auto& [name, axis] : axes_) {
        axis.values[row] = lacking;
        if (axis.kernels) axis.kernels->set(row, lacking);
    }
    free_rows_.push_back(static_cast<std::uint32_t>(row));
    ++older_dropped_;
    is_changed_ = true;
}

/// Drops the rows of observations that are not kept, except of the best.
inline void TpeObservations::thin_out(const History& history, bool is_new) {
    const Kept trials{history.trials.size(), most_kernels_};
    const Kept rejections{history.rejections.size(), most_kernels_};
    if (!is_new && trials == kept_trials_ && rejections == kept_rejections_) return;
    kept_trials_ = trials;
    kept_rejections_ = rejections;
    for (const std::uint32_t row : std::vector<std::uint32_t>{by_age_}) {
        if (may_drop(row)) drop(row);
    }
}

inline void TpeObservations::split() {
    if (!std::exchange(is_changed_, false)) return;
    std::size_t wanted = tpe_good_count(gamma_, finished_, directions_.size());
    good_.clear();
    for (const std::size_t place : fronts_.best(wanted)) good_.push_back({place, no_rejection});
    wanted = std::min(wanted - good_.size(), best_.size());
    for (std::size_t i = 0; i < wanted; ++i) good_.push_back(rows_[best_[i]].age);
    std::sort(good_.begin(), good_.end());

    counts_.assign(rows_.size(), 0);
    for (const std::uint32_t row : by_age_) counts_[row] = 1;
    for (const Age& age : good_)
        counts_[age.rejection == no_rejection ? row_of_trial_[age.trial] : row_of_rejection_[age.rejection - 1]] = 0;
    counts_[0] = 0;
    constexpr std::size_t block = TpeGrowingKernels::block;
    log_weights_.assign((rows_.size() + block - 1) / block * block, -std::numeric_limits<double>::infinity());
    std::size_t older = 0, later = 0;
    for (const std::uint32_t row : by_age_) {
        if (counts_[row] != 0) ++(is_older(row) ? older : later);
    }
    // Each of the older ones stands for `share` that were observed, and is as old as their middle.
    const std::size_t all_older = older + older_dropped_;
    const double share = older > 0 ? static_cast<double>(all_older) / static_cast<double>(older) : 1;
    const std::size_t n = all_older + later;
    std::size_t i = 0, nth_older = 0, nth_later = 0;
    age_.assign(rows_.size(), 0);
    for (const std::uint32_t row : by_age_) {
        if (counts_[row] == 0) continue;
        age_[row] = static_cast<std::uint32_t>(i++);
        if (is_older(row)) {
            const auto middle = static_cast<std::size_t>((static_cast<double>(nth_older++) + 0.5) * share);
            log_weights_[row] = tpe_log_weight(middle, n) + std::log(share);
        } else {
            log_weights_[row] = tpe_log_weight(all_older + nth_later++, n);
        }
    }
    log_weights_[0] = n > 0 ? std::log(prior_weight_) : 0;
    ++counts_version_;
}

inline std::vector<Dimension> TpeObservations::space() const {
    std::vector<std::pair<std::pair<std::size_t, std::size_t>, Dimension>> found;
    for (const auto& [name, axis] : axes_) {
        if (is_modelled(axis)) found.push_back({axis.first, {name, axis.distribution}});
    }
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Dimension> dimensions;
    dimensions.reserve(found.size());
    for (auto& [first, dimension] : found) dimensions.push_back(std::move(dimension));
    return dimensions;
}

inline std::vector<const ParamSet*> TpeObservations::good(const History& history) const {
    std::vector<const ParamSet*> params;
    for (const Age& age : good_) {
        params.push_back(age.rejection == no_rejection ? &tpe_params(history.trials[age.trial])
                                                       : &history.rejections[age.rejection - 1].params);
    }
    return params;
}

inline const Distribution* TpeObservations::latest(std::string_view name) const {
    const auto found = axes_.find(name);
    return found != axes_.end() && is_modelled(found->second) ? found->second.distribution.get() : nullptr;
}

inline TpeGrowingKernels& TpeObservations::kernels_of(Axis& axis) {
    if (!axis.kernels) {
        axis.kernels.emplace(ModelAxis{*axis.distribution}, prior_weight_);
        for (std::size_t row = 1; row < rows_.size(); ++row) axis.kernels->set(row, axis.values[row]);
        axis.up_to_date = 0;
    }
    if (axis.up_to_date != counts_version_) axis.kernels->update(counts_, age_);
    axis.up_to_date = counts_version_;
    return *axis.kernels;
}

inline std::vector<double> TpeObservations::log_density_of_others(std::span<const std::string_view> names,
                                                                  const std::vector<std::vector<double>>& points) {
    using tpe_detail::Pair, tpe_detail::FourPairs, tpe_detail::pair_at, tpe_detail::exp_below_zero;
    constexpr std::size_t block = TpeGrowingKernels::block;
    const std::size_t count = points.front().size();
    std::vector<const TpeGrowingKernels*> all;
    for (std::size_t d = 0; d < names.size(); ++d) {
        TpeGrowingKernels& kernels = kernels_of(axes_.find(names[d])->second);
        kernels.look_at(points[d]);
        all.push_back(&kernels);
    }
    constexpr std::size_t stride = TpeGrowingKernels::stride;
    std::vector<double> sums(count * stride);
    std::vector<double> highest(count, -std::numeric_limits<double>::infinity());
    std::vector<double> total(count, 0);
    for (std::size_t first = 0; first < log_weights_.size(); first += block) {
        const auto weights = log_weights_.begin() + static_cast<std::ptrdiff_t>(first);
        for (std::size_t i = 0; i < count; ++i) std::copy_n(weights, block, sums.begin() + static_cast<std::ptrdiff_t>(i * stride));
        for (const TpeGrowingKernels* kernels : all) kernels->add_log_densities(first, sums);
        for (std::size_t i = 0; i < count; ++i) {
            const double* const sum = sums.data() + i * stride;
            Pair highs = pair_at(sum);
            for (std::size_t k = 2; k < block; k += 2) highs = pair_at(sum + k) > highs ? pair_at(sum + k) : highs;
            const double high = std::max(highs[0], highs[1]);
            if (high > highest[i]) {
                total[i] *= std::exp(highest[i] - high);
                highest[i] = high;
            }
            Pair added{};
            for (std::size_t k = 0; k < block; k += 8) {
                const Pair top = Pair{} + highest[i];
                const FourPairs shares = exp_below_zero(
                    {{pair_at(sum + k) - top, pair_at(sum + k + 2) - top, pair_at(sum + k + 4) - top, pair_at(sum + k + 6) - top}});
                for (const Pair& share : shares.at) added += share;
            }
            total[i] += added[0] + added[1];
        }
    }
    for (std::size_t i = 0; i < count; ++i) total[i] = highest[i] + std::log(total[i]);
    return total;
}

}  // namespace hpo::sampler
