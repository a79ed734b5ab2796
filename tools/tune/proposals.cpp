// SPDX-License-Identifier: MIT
#include "proposals.hpp"

#include <algorithm>

#include "hpo/sampler/random.hpp"
#include "hpo/sampler/suggest.hpp"
#include "hpo/space/known_distributions.hpp"

namespace hpo::tune {

std::vector<ParamSet> draw_proposals(const Settings& settings) {
    constexpr std::int64_t count = 64;
    std::vector<ParamSet> drawn;
    sampler::Random random;
    const History nothing{settings.description().name, {}, {}, {}};
    const Space space = settings.script().space();
    const auto fixed = settings.fixed();
    KnownDistributions distributions;
    for (std::int64_t number = 0; number < count; ++number) {
        drawn.push_back(suggest_params(random, space, TrialContext{number, nothing}, Seed{0}, fixed));
        distributions.admit(drawn.back());
    }
    return drawn;
}

std::vector<std::string> never_asked(const Settings& settings, const std::vector<ParamSet>& proposals) {
    std::vector<std::string> names;
    for (const auto& entry : settings.fixed()) {
        const auto asks = [&](const ParamSet& params) { return params.find(entry.first) != nullptr; };
        if (std::none_of(proposals.begin(), proposals.end(), asks)) names.push_back(entry.first);
    }
    return names;
}

}  // namespace hpo::tune
