// SPDX-License-Identifier: MIT
#include "tune/prediction/survey.hpp"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "hpo/base/time.hpp"
#include "hpo/sampler/random.hpp"
#include "hpo/sampler/suggest.hpp"
#include "hpo/space/enumeration.hpp"
#include "hpo/space/fixed_space.hpp"
#include "tune/settings/fixed_parameters.hpp"

namespace hpo::tune {
namespace {

/// True when a continuous parameter's value may decide how much memory is taken: more than whether it is 0.
bool matters(const TrainerInfo& info, const std::string& name) {
    const auto known = std::find_if(info.parameters.begin(), info.parameters.end(),
                                    [&](const TrainerParameter& parameter) { return parameter.name == name; });
    return known == info.parameters.end() || (known->memory != MemoryUse::none && known->memory != MemoryUse::whether_zero);
}

}  // namespace

void FitCounts::add(Fit fit) {
    switch (fit) {
        case Fit::as_it_is: ++as_they_are; break;
        case Fit::smaller: ++smaller; break;
        case Fit::never: ++never; break;
        case Fit::unknown: ++unknown; break;
    }
}

Survey survey(Estimator& estimator, const Settings& settings, const TrainerInfo& info, const SpaceCount& count,
              const SurveyLimits& limits) {
    Survey result;
    const Stopwatch watch;
    const Space space = settings.probe_space();
    const FixedValues fixed = settings.fixed();
    require_fixed(settings);
    FixedUses uses{fixed};
    const Space fixed_space = with_fixed(space, uses);
    const auto stays_open = [&](const std::string& name) {
        return matters(info, name) && std::none_of(fixed.begin(), fixed.end(), [&](const auto& each) { return each.first == name; });
    };
    result.sampled =
        !count.exact || std::any_of(count.continuous.begin(), count.continuous.end(), stays_open) || count.combinations > limits.most;
    const std::uint64_t runs = limits.most + count.refused;
    std::vector<ParamSet> all;
    if (!result.sampled) {
        const auto keep = [&](const ParamSet& params, bool refused) {
            if (!refused) all.push_back(params);
        };
        result.sampled = !for_each_combination(fixed_space, runs, keep).complete;
    }
    const std::uint64_t of = result.sampled ? limits.draws : all.size();
    for (const auto& [name, value] : fixed) result.never_asked.push_back(name);
    const auto counts_of = [&](const Value& value) -> FitCounts& {
        auto found = std::find_if(result.branches.begin(), result.branches.end(), [&](const auto& each) { return each.first == value; });
        if (found == result.branches.end()) found = result.branches.insert(found, {value, FitCounts{}});
        return found->second;
    };
    /// False when time is up.
    const auto examine = [&](const ParamSet& params) {
        if (watch.seconds() >= limits.seconds) return false;
        const Fit fit = estimator.fit(params);
        result.counts.add(fit);
        std::erase_if(result.never_asked, [&](const std::string& name) { return params.find(name) != nullptr; });
        if (const Param* branch = params.find(count.branches_by)) counts_of(branch->value()).add(fit);
        if (limits.progress) limits.progress(result, of);
        return true;
    };
    if (!result.sampled) {
        for (const ParamSet& params : all) {
            if (const Param* const branch = params.find(count.branches_by)) (void)counts_of(branch->value());
        }
        // Not in their order: a program is recorded for the first ones, and these should differ in all parameters.
        std::mt19937_64 random;
        for (std::size_t left = all.size(); left > 1; --left) std::swap(all[left - 1], all[random() % left]);
        for (std::size_t i = 0; i < all.size() && result.complete; ++i) result.complete = examine(all[i]);
        std::erase_if(result.branches, [](const auto& each) { return each.second.all() == 0; });
    } else {
        sampler::Random random;
        const History nothing{settings.description().name, {}, {}, {}};
        for (std::uint64_t draw = 0; draw < limits.draws && result.complete; ++draw) {
            const ParamSet params = suggest_params(random, space, TrialContext{static_cast<std::int64_t>(draw), nothing}, Seed{0}, fixed);
            result.complete = examine(params);
        }
    }
    return result;
}

}  // namespace hpo::tune
