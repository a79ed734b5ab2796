// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/field.hpp"
#include "hpo/core/history_cursor.hpp"
#include "hpo/pruner/concept.hpp"

namespace hpo::pruner {

/// Asynchronous successive halving (Li et al. 2020, "A System for Massively Parallel Hyperparameter Tuning", ASHA). A trial climbs rungs:
/// rung r is at the step min_resource * reduction_factor^(min_early_stopping_rate + r). At each rung it goes on if its latest value is
/// among the best 1 / reduction_factor of all trials that have reached the rung, and is pruned otherwise. The best of a few is never
/// pruned.
///
/// Decides as Optuna's pruner of that name. Without `min_resource` there is a difference: Optuna keeps what it estimated first, and leaves
/// out trials that ran before. Here the estimate follows the longest complete trial, and all trials count, so that a verdict depends on the
/// history alone. A verdict costs O(log n) for each rung, and what is new. Thread safety: none.
class SuccessiveHalving {
public:
    static constexpr std::string_view name = "successive_halving";
    static constexpr std::string_view summary = "prunes what is outside the best 1 / reduction_factor at steps that grow by that factor";
    struct Config {
        std::optional<std::int64_t> min_resource{};
        std::int64_t reduction_factor = 4;
        std::int64_t min_early_stopping_rate = 0;
        std::int64_t bootstrap_count = 0;
    };
    static constexpr void fields(auto field) {
        field("min_resource", &Config::min_resource, "step of the first decision; none: a hundredth of the longest complete trial");
        field("reduction_factor", &Config::reduction_factor, "by how much the steps of decisions grow, and the trials shrink");
        field("min_early_stopping_rate", &Config::min_early_stopping_rate, "how many of the first decisions are left out");
        field("bootstrap_count", &Config::bootstrap_count, "trials that must have reached a decision before one may go on");
    }

    SuccessiveHalving() : SuccessiveHalving{Config{}} {}
    explicit SuccessiveHalving(Config config) : config_{config} {
        if (config.min_resource) require_at_least<1>("min_resource", *config.min_resource);
        require_at_least<2>("reduction_factor", config.reduction_factor);
        require_at_least<0>("min_early_stopping_rate", config.min_early_stopping_rate);
        require_at_least<0>("bootstrap_count", config.bootstrap_count);
        if (config.bootstrap_count > 0 && !config.min_resource)
            throw bad_value("bootstrap_count", std::to_string(config.bootstrap_count),
                            "min_resource beside it, because it is estimated from trials that went on");
    }

    [[nodiscard]] Verdict judge(const PruneQuery& query) {
        const StepValues& reports = query.trial.intermediate;
        const auto latest = reports.find(query.step);
        if (latest == reports.end()) return {};
        follow(query);
        if (!resource_) return {};
        const double value = latest->second;
        std::size_t rung = 0;
        for (auto report = reports.begin(); report != latest; ++report) {
            while (report->first >= step_of(rung)) ++rung;
        }
        for (; query.step >= step_of(rung); ++rung) {
            const std::string where = "at step " + std::to_string(query.step);
            if (std::isnan(value)) return {Verdict::Answer::prune, "the value " + where + " is NaN"};
            const Rivals rivals = rivals_of(query, rung, value);
            if (rivals.count <= config_.bootstrap_count)
                return {Verdict::Answer::prune, "it is one of the first " + std::to_string(config_.bootstrap_count) + " trials " + where};
            const std::int64_t kept = std::max<std::int64_t>(1, rivals.count / config_.reduction_factor);
            if (rivals.better >= kept)
                return {Verdict::Answer::prune, "value " + display_text(value) + " " + where + " is not among the best " +
                                                    std::to_string(kept) + " of " + std::to_string(rivals.count) + " trials"};
        }
        return {};
    }

private:
    struct Rivals {
        std::int64_t count = 1;   ///< trials at a rung, with the one that is judged
        std::int64_t better = 0;  ///< of these, those with a better value
    };

    [[nodiscard]] std::int64_t step_of(std::size_t rung) const {
        constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
        std::int64_t step = *resource_;
        for (std::int64_t i = 0; i < config_.min_early_stopping_rate + static_cast<std::int64_t>(rung); ++i) {
            if (step > never / config_.reduction_factor) return never;
            step *= config_.reduction_factor;
        }
        return step;
    }
    /// Calls reached(rung, value) for each rung that a trial has reached.
    template <class Reached>
    void climb(const Trial& trial, const Reached& reached) const {
        std::size_t rung = 0;
        for (const auto& [step, value] : trial.intermediate) {
            if (step < step_of(rung)) continue;
            if (std::isnan(value)) return;  // it is pruned there
            for (; step >= step_of(rung); ++rung) reached(rung, value);
        }
    }
    void take_in(const Trial& trial) {
        climb(trial, [&](std::size_t rung, double value) {
            if (rungs_.size() <= rung) rungs_.resize(rung + 1);
            std::vector<double>& values = rungs_[rung];
            values.insert(std::upper_bound(values.begin(), values.end(), value), value);
        });
    }
    /// Takes in the trials that have ended since the last call.
    void follow(const PruneQuery& query) {
        const History& history = query.history;
        if (!cursor_.goes_on(history)) {
            cursor_.restart(history);
            longest_.reset();
            resource_.reset();
            rungs_.clear();
        }
        std::vector<const Trial*> ended;
        const auto see = [&](std::size_t place) {
            const Trial& trial = history.trials[place];
            ended.push_back(&trial);
            if (trial.state != TrialState::complete || trial.intermediate.empty()) return;
            const std::int64_t last = std::prev(trial.intermediate.end())->first;
            longest_ = std::max(longest_.value_or(last), last);
        };
        cursor_.advance(history, query.trial.number, see, [](std::size_t) {});
        const std::optional<std::int64_t> resource = config_.min_resource ? config_.min_resource
                                                     : longest_           ? std::optional{std::max<std::int64_t>(1, *longest_ / 100)}
                                                                          : std::nullopt;
        if (resource != resource_) {  // each rung is a multiple of it
            resource_ = resource;
            rungs_.clear();
            ended.clear();
            for (const Trial& trial : history.trials) {
                if (is_finished(trial.state) && trial.number != query.trial.number) ended.push_back(&trial);
            }
        }
        if (!resource_) return;
        for (const Trial* const trial : ended) take_in(*trial);
    }
    [[nodiscard]] Rivals rivals_of(const PruneQuery& query, std::size_t rung, double value) const {
        Rivals rivals;
        if (rung < rungs_.size()) {
            const std::vector<double>& values = rungs_[rung];
            rivals.count += std::ssize(values);
            rivals.better += query.direction == Direction::minimize ? std::lower_bound(values.begin(), values.end(), value) - values.begin()
                                                                    : values.end() - std::upper_bound(values.begin(), values.end(), value);
        }
        for (const std::size_t place : cursor_.open()) {
            const Trial& other = query.history.trials[place];
            if (other.number == query.trial.number) continue;
            climb(other, [&](std::size_t reached, double its_value) {
                if (reached != rung) return;
                ++rivals.count;
                if (better(query.direction, its_value, value)) ++rivals.better;
            });
        }
        return rivals;
    }

    Config config_;
    HistoryCursor cursor_;
    std::optional<std::int64_t> longest_;     ///< the last step of the longest complete trial
    std::optional<std::int64_t> resource_;    ///< nullopt: not known yet
    std::vector<std::vector<double>> rungs_;  ///< the values at each rung, ascending
};

static_assert(Pruner<SuccessiveHalving> && Configurable<SuccessiveHalving>);

}  // namespace hpo::pruner
