// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "hpo/base/inline.hpp"
#include "hpo/sampler/suggest.hpp"
#include "hpo/tuner/asking/expected_space.hpp"

namespace hpo::tuner::inline asking {
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

/// In how many parameters with few values the two agree, less those in which they differ. Parameters that `other` lacks count most.
inline int agreement(const ParamSet& drawn, const ParamSet& other) {
    int agreed = 0;
    std::size_t place = 0;
    for (const Param& param : drawn) {
        const Param* const same = other.find(param.name, place++);
        if (!same) agreed -= 100;
        else if (!holds<FloatDistribution>(*param.distribution)) agreed += same->value() == param.value() ? 1 : -1;
    }
    return agreed;
}

}  // namespace expected

HPO_INLINE void ask_expected(SpaceTrial& trial, std::span<const Trial> earlier) {
    const std::vector<const ParamSet*> candidates = expected::latest_params(earlier);
    for (bool asks = true; asks;) {
        asks = false;
        const ParamSet* closest = nullptr;
        int best = std::numeric_limits<int>::min();
        for (const ParamSet* candidate : candidates) {
            const int agreed = expected::agreement(trial.params(), *candidate);
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

}  // namespace hpo::tuner::asking
