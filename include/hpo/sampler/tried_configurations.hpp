// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/core/distribution.hpp"
#include "hpo/core/history.hpp"
#include "hpo/core/history_cursor.hpp"
#include "hpo/sampler/concept.hpp"
#include "hpo/sampler/uniform.hpp"
#include "hpo/space/space_trial.hpp"

namespace hpo::sampler {

/// The internal values that a search which tries every configuration gives a parameter, in ascending order. Empty if they are too many.
using CandidateValues = std::function<std::vector<double>(const Distribution& distribution)>;

/// All values of a distribution, or `points` of them that are evenly spaced from its low to its high, on its own scale. All choices are
/// taken. Empty if all are wanted and there are more than `most_candidates`, or infinitely many.
inline constexpr std::size_t most_candidates = 100'000;
[[nodiscard]] std::vector<double> candidate_values(const Distribution& distribution, std::optional<std::size_t> points);

/// The configurations of a study that were tried, as a tree: a node for each value that a parameter had, below the values that were asked
/// for before. So conditional spaces are followed into each branch.
///
/// A call continues where the last one ended, and looks at trials that are new and at those that had not ended. Every trial that began
/// counts, however it ended, and so does a refused proposal. Thread safety: none.
class TriedConfigurations {
public:
    explicit TriedConfigurations(CandidateValues candidates) : candidates_{std::move(candidates)}, root_{std::make_unique<Node>()} {}

    /// Draws among the values that lead to a configuration that was not tried. Values that `within` leaves out count as tried in this
    /// trial, and so does what was refused of it before. Throws SpaceExhausted if none is left. Who cannot ask again, as a program that
    /// runs already, gets a tried one instead. The parameter must have candidates.
    [[nodiscard]] double draw(const Ask& ask);

    /// True if every configuration was tried, as far as the trials show which there are.
    [[nodiscard]] bool all_tried(const TrialContext& trial) {
        follow(trial);
        return trial.asker == Asker::space ? root_->is_taken : root_->is_done;
    }

private:
    struct Node {
        Node* parent = nullptr;
        std::string param{};  ///< that is asked for here; empty: not known
        std::shared_ptr<const Distribution> distribution{};
        std::vector<double> values{};                                                ///< of it that are searched
        std::map<std::pair<std::string, double>, std::unique_ptr<Node>> children{};  ///< by parameter and value
        std::size_t ended = 0;                                                       ///< trials that have ended here
        std::size_t running = 0;                                                     ///< trials that run and have no more parameters yet
        bool is_excluded = false;                                                    ///< in the trial that is drawn
        bool is_done = false;                                                        ///< all below was tried
        bool is_taken = false;                                                       ///< all below was tried, runs or is excluded
    };

    void follow(const TrialContext& trial);
    void take_in(const ParamSet& params);
    [[nodiscard]] Node& node_of(const ParamSet& params);
    void expand(Node& node, const std::string& name, const std::shared_ptr<const Distribution>& distribution);
    [[nodiscard]] static Node& child(Node& node, double value);
    [[nodiscard]] static const Node* known_child(const Node& node, double value) {
        const auto found = node.children.find({node.param, value});
        return found == node.children.end() ? nullptr : found->second.get();
    }
    [[nodiscard]] static double key_of(const Node& node, double value);
    static void refresh(Node* node);
    void exclude(Node& node) {
        node.is_excluded = true;
        excluded_.push_back(&node);
        refresh(&node);
    }

    CandidateValues candidates_;
    std::unique_ptr<Node> root_;
    HistoryCursor cursor_;
    FixedValues fixed_;           ///< each of these parameters has one value
    std::vector<Node*> running_;  ///< of running trials
    std::vector<Node*> excluded_;
    std::int64_t number_ = -1;  ///< the trial that is drawn
    std::int64_t proposal_ = 0;
    Node* drawn_ = nullptr;  ///< the latest value of the latest proposal
};

inline std::vector<double> candidate_values(const Distribution& distribution, std::optional<std::size_t> points) {
    std::vector<double> values;
    const auto add_all = [&](std::size_t count, auto&& value_at) {
        for (std::size_t k = 0; k < count; ++k) {
            if (const double value = value_at(k); values.empty() || value > values.back()) values.push_back(value);
        }
    };
    if (const auto* choices = std::get_if<CategoricalDistribution>(&distribution)) {
        add_all(choices->choices.size(), [](std::size_t k) { return static_cast<double>(k); });
        return values;
    }
    const auto* real = std::get_if<FloatDistribution>(&distribution);
    const auto* whole = std::get_if<IntDistribution>(&distribution);
    const double low = real ? real->low : static_cast<double>(whole->low);
    const double high = real ? real->high : static_cast<double>(whole->high);
    const bool is_log = real ? real->log : whole->log;
    const std::optional<double> step = real ? real->step : std::optional{static_cast<double>(whole->step)};
    if (low == high) return {low};
    const double last = step ? std::floor((high - low) / *step + 1e-8) : HUGE_VAL;  // number of steps
    const auto on_grid = [&](double k) { return std::min(low + k * *step, high); };
    if (!points && last >= static_cast<double>(most_candidates)) return {};
    if (!points || last < static_cast<double>(*points)) {
        add_all(static_cast<std::size_t>(last) + 1, [&](std::size_t k) { return on_grid(static_cast<double>(k)); });
        return values;
    }
    add_all(*points, [&](std::size_t k) {
        const double share = static_cast<double>(k) / static_cast<double>(*points - 1);
        if (k == 0) return low;
        if (k + 1 == *points) return step ? on_grid(last) : high;
        const double value = is_log ? std::exp(std::log(low) + share * (std::log(high) - std::log(low))) : low * (1 - share) + high * share;
        return step ? on_grid(std::round((value - low) / *step)) : std::clamp(value, low, high);
    });
    return values;
}

inline double TriedConfigurations::draw(const Ask& ask) {
    follow(ask.trial);
    Node& node = node_of(ask.fixed);
    const bool is_same = node.distribution && *node.distribution == ask.distribution;
    expand(node, ask.name, is_same ? node.distribution : std::make_shared<const Distribution>(ask.distribution));
    const auto refuses = [&](double value) { return !ask.within.admits(value); };
    std::vector<double> admitted = node.values;
    std::erase_if(admitted, refuses);
    if (admitted.empty()) {  // a narrowing that lies between two of them
        admitted = candidates_(*narrowed(ask.distribution, ask.within));
        std::erase_if(admitted, refuses);
    }
    std::vector<double> untried = admitted;
    std::erase_if(untried, [&](double value) {
        const Node* const known = known_child(node, value);
        return known && known->is_taken;
    });
    if (untried.empty()) {
        if (ask.trial.draws_again) {
            exclude(node);
            drawn_ = nullptr;
            if (root_->is_taken) throw SpaceExhausted{"every configuration of the space was tried"};
            throw SpaceRejection{"every configuration with these values of the first parameters was tried"};
        }
        untried = admitted;
        if (untried.empty()) return draw_uniform(ask.distribution, ask.within, ask.rng);
    }
    const double value = untried[ask.rng.below(untried.size())];
    // What is only expected of a program may never be asked for, so it leaves nothing behind.
    drawn_ = ask.trial.asker == Asker::expectation ? nullptr : &child(node, value);
    return value;
}

inline void TriedConfigurations::follow(const TrialContext& trial) {
    const History& history = trial.history;
    static const FixedValues nothing;
    const FixedValues& fixed = trial.fixed ? *trial.fixed : nothing;
    if (!cursor_.goes_on(history) || fixed != fixed_) {
        fixed_ = fixed;
        cursor_.restart(history);
        root_ = std::make_unique<Node>();
        running_.clear(), excluded_.clear();
        drawn_ = nullptr;
        number_ = -1;
    }
    if (trial.number != number_ || trial.proposal < proposal_) {
        for (Node* node : std::exchange(excluded_, {})) {
            node->is_excluded = false;
            refresh(node);
        }
    } else if (trial.proposal > proposal_ && drawn_) {
        exclude(*drawn_);
        drawn_ = nullptr;
    }
    number_ = trial.number;
    proposal_ = trial.proposal;

    for (Node* node : std::exchange(running_, {})) {
        --node->running;
        refresh(node);
    }
    cursor_.advance(
        history, trial.number, [&](std::size_t place) { take_in(history.trials[place].params); },
        [&](std::size_t place) { take_in(history.rejections[place].params); });
    for (const std::size_t place : cursor_.open()) {
        const Trial& other = history.trials[place];
        if (other.number == trial.number || other.state != TrialState::running || other.params.empty()) continue;
        Node& node = node_of(other.params);
        ++node.running;
        running_.push_back(&node);
        refresh(&node);
    }
}

inline void TriedConfigurations::take_in(const ParamSet& params) {
    if (params.empty()) return;  // it failed before it had any
    Node& node = node_of(params);
    ++node.ended;
    refresh(&node);
}

inline TriedConfigurations::Node& TriedConfigurations::node_of(const ParamSet& params) {
    Node* node = root_.get();
    for (const Param& param : params) {
        expand(*node, param.name, param.distribution);
        node = &child(*node, key_of(*node, param.internal));
    }
    return *node;
}

inline void TriedConfigurations::expand(Node& node, const std::string& name, const std::shared_ptr<const Distribution>& distribution) {
    if (node.param == name && (node.distribution == distribution || *node.distribution == *distribution)) return;
    node.param = name;
    node.distribution = distribution;
    node.values = candidates_(*distribution);
    const auto chosen = std::find_if(fixed_.begin(), fixed_.end(), [&](const auto& value) { return value.first == name; });
    if (chosen != fixed_.end()) {
        if (const auto internal = to_internal_as_written(*distribution, chosen->second)) node.values = {*internal};
    }
    refresh(&node);
}

/// The candidate that a value is but for rounding. Another value, of an enqueued trial, is a key of its own. All are one without
/// candidates.
inline double TriedConfigurations::key_of(const Node& node, double value) {
    if (node.values.empty()) return 0;
    const auto above = std::lower_bound(node.values.begin(), node.values.end(), value);
    const double near = 1e-9 * std::max(std::fabs(value), node.values.back() - node.values.front());
    if (above != node.values.end() && *above - value <= near) return *above;
    if (above != node.values.begin() && value - *std::prev(above) <= near) return *std::prev(above);
    return value;
}

inline TriedConfigurations::Node& TriedConfigurations::child(Node& node, double value) {
    auto& found = node.children[{node.param, value}];
    if (!found) {
        found = std::make_unique<Node>();
        found->parent = &node;
    }
    return *found;
}

inline void TriedConfigurations::refresh(Node* node) {
    for (; node; node = node->parent) {
        bool is_done = node->ended > 0;
        bool is_taken = is_done || node->running > 0;
        if (!node->children.empty()) {  // else its parameter was only expected, or is asked for now
            const auto all = [&](auto member) {
                if (node->children.size() < node->values.size()) return false;  // in no time, as long as a value was never drawn
                const auto has = [&](double value) {
                    const Node* const known = known_child(*node, value);
                    return known && known->*member;
                };
                return node->values.empty() ? has(0) : std::all_of(node->values.begin(), node->values.end(), has);
            };
            is_done = all(&Node::is_done);
            is_taken = all(&Node::is_taken);
        }
        is_taken = is_taken || node->is_excluded;
        if (node->is_done == is_done && node->is_taken == is_taken) return;
        node->is_done = is_done;
        node->is_taken = is_taken;
    }
}

}  // namespace hpo::sampler
