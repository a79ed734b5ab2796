// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/core/trial.hpp"
#include "hpo/sampler/suggest.hpp"
#include "hpo/space/space_trial.hpp"

namespace hpo::tuner {

/// How many of the latest finished trials `ask_expected` compares.
inline constexpr std::size_t most_compared_trials = 200;

/// The space of a study whose trials ask for their parameters while they run, as far as the `earlier` trials show it. It draws what the
/// most similar of the latest trials asked for. Trials are similar that agree in parameters that decide what follows: `classifier` decides
/// whether `svc_c` follows, and `batch` does not. An expectation may be wrong. Then a trial draws the missing parameters when it asks for
/// them. O(parameters^2 * most_compared_trials).
void ask_expected(SpaceTrial& trial, std::span<const Trial> earlier);

namespace expected {

/// The latest trials that asked for parameters, latest first. A trial that an error cut short did not ask for all of them, so it counts
/// only while there is no other.
inline std::vector<const ParamSet*> latest_params(std::span<const Trial> trials) {
    std::vector<const ParamSet*> whole, cut_short;
    for (auto trial = trials.rbegin(); trial != trials.rend() && whole.size() < most_compared_trials; ++trial) {
        if (!is_finished(trial->state) || trial->params.empty()) continue;
        (trial->state == TrialState::fail ? cut_short : whole).push_back(&trial->params);
    }
    return whole.empty() ? cut_short : whole;
}

/// How far each parameter with few values decides which parameters a trial asks for: 1 if trials that agree in it ask for the same ones,
/// near 0 if they do so no more often than any two trials. Empty if all trials ask for the same: then each decides as much.
inline std::map<std::string, double, std::less<>> deciding_shares(const std::vector<const ParamSet*>& trials) {
    constexpr double least_share = 0.01;           // it decides between trials that nothing else tells apart
    using Counts = std::map<std::size_t, double>;  // of trials, by what they ask for
    struct Pairs {
        double all = 0;
        double same = 0;  ///< that ask for the same parameters

        void add(const Counts& counts) {
            double trials = 0;
            for (const auto& [names, count] : counts) {
                trials += count;
                same += count * (count - 1);
            }
            all += trials * (trials - 1);
        }
    };
    std::map<std::vector<std::string_view>, std::size_t> known;  // what trials ask for, sorted
    std::vector<std::size_t> asked;
    const ParamSet* before = nullptr;
    for (const ParamSet* params : trials) {
        if (const ParamSet* other = std::exchange(before, params);
            other && std::ranges::equal(*other, *params, {}, &Param::name, &Param::name)) {
            asked.push_back(asked.back());  // most trials ask as the one before did
            continue;
        }
        std::vector<std::string_view> names;
        for (const Param& param : *params) names.push_back(param.name);
        std::ranges::sort(names);
        asked.push_back(known.emplace(std::move(names), known.size()).first->second);
    }
    if (known.size() < 2) return {};
    Counts any;
    std::map<std::string_view, std::map<double, Counts>> by_value;
    for (std::size_t i = 0; i < trials.size(); ++i) {
        ++any[asked[i]];
        for (const Param& param : *trials[i]) {
            if (!std::holds_alternative<FloatDistribution>(*param.distribution)) ++by_value[param.name][param.internal][asked[i]];
        }
    }
    Pairs of_any;
    of_any.add(any);
    const double by_chance = of_any.same / of_any.all;  // below 1, because two trials ask for different ones
    std::map<std::string, double, std::less<>> shares;
    for (const auto& [name, counts_by_value] : by_value) {
        Pairs agreeing;
        for (const auto& [value, counts] : counts_by_value) agreeing.add(counts);
        const double same = agreeing.all > 0 ? agreeing.same / agreeing.all : by_chance;
        shares.emplace(name, std::max(least_share, (same - by_chance) / (1 - by_chance)));
    }
    return shares;
}

/// How far the two agree in parameters with few values. `shares` has what each of `drawn` decides. Parameters that `other` lacks count
/// most.
inline double agreement(const ParamSet& drawn, const ParamSet& other, const std::vector<double>& shares) {
    constexpr double lacking = 100;
    double agreed = 0;
    std::size_t place = 0;
    for (const Param& param : drawn) {
        const double share = shares[place];
        const Param* const same = other.find(param.name, place++);
        if (!same) agreed -= lacking;
        else if (share > 0) agreed += same->value() == param.value() ? share : -share;
    }
    return agreed;
}

}  // namespace expected

inline void ask_expected(SpaceTrial& trial, std::span<const Trial> earlier) {
    const std::vector<const ParamSet*> candidates = expected::latest_params(earlier);
    const auto decides = expected::deciding_shares(candidates);
    std::vector<double> shares;  // of the trial's own parameters
    for (bool asks = true; asks;) {
        asks = false;
        while (shares.size() < trial.params().size()) {
            const Param& param = *(trial.params().begin() + static_cast<std::ptrdiff_t>(shares.size()));
            const auto share = decides.find(param.name);
            shares.push_back(std::holds_alternative<FloatDistribution>(*param.distribution) ? 0
                             : share != decides.end()                                       ? share->second
                             : decides.empty()                                              ? 1
                                                                                            : 0);
        }
        const ParamSet* closest = nullptr;
        double best = -std::numeric_limits<double>::infinity();
        for (const ParamSet* candidate : candidates) {
            const double agreed = expected::agreement(trial.params(), *candidate, shares);
            if (agreed > best) best = agreed, closest = candidate;
        }
        if (!closest) return;
        for (const Param& param : *closest) {
            if (trial.params().find(param.name)) continue;
            try {
                trial.draw(param.name, *param.distribution, {});
            } catch (const NoSuggestion&) {
                return;  // it may never be asked for; if it is, the program is told
            } catch (const FixedValueError&) {
                return;
            }
            asks = true;
            break;
        }
    }
}

}  // namespace hpo::tuner
