// SPDX-License-Identifier: MIT
#include "survey.hpp"

#include <algorithm>

#include "hpo/core/time.hpp"
#include "hpo/sampler/random.hpp"
#include "hpo/sampler/suggest.hpp"

namespace hpo::tune {
namespace {

/// True when a continuous parameter's value may decide how much memory is taken: more than whether it is 0.
bool matters(const TrainerInfo& info, const std::string& name) {
    const auto known = std::find_if(info.parameters.begin(), info.parameters.end(),
                                    [&](const TrainerParameter& parameter) { return parameter.name == name; });
    return known == info.parameters.end() || (known->memory != MemoryUse::none && known->memory != MemoryUse::whether_zero);
}

bool has(const ParamSet& params, const std::pair<std::string, Value>& fixed) {
    const Param* param = params.find(fixed.first);
    return !param || to_internal(*param->distribution, fixed.second) == param->internal;
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
    const Space space = settings.script().space();
    const auto fixed = settings.fixed();
    const auto is_fixed = [&](const std::string& name) {
        return std::any_of(fixed.begin(), fixed.end(), [&](const auto& each) { return each.first == name; });
    };
    result.sampled = !count.exact || count.combinations > limits.most ||
                     std::any_of(count.continuous.begin(), count.continuous.end(),
                                 [&](const std::string& name) { return matters(info, name) || is_fixed(name); });
    const std::uint64_t of = result.sampled ? limits.draws : count.combinations;
    const auto examine = [&](const ParamSet& params) {
        const Fit fit = estimator.fit(params);
        result.counts.add(fit);
        if (const Param* branch = params.find(count.branches_by)) {
            const Value value = branch->value();
            auto found =
                std::find_if(result.branches.begin(), result.branches.end(), [&](const auto& each) { return each.first == value; });
            if (found == result.branches.end()) found = result.branches.insert(found, {value, FitCounts{}});
            found->second.add(fit);
        }
        if (limits.progress) limits.progress(result, of);
        return watch.seconds() < limits.seconds;
    };
    if (!result.sampled) {
        (void)for_each_combination(space, limits.most + count.refused, [&](const ParamSet& params, bool refused) {
            const auto allows = [&](const auto& each) { return has(params, each); };
            if (refused || !result.complete || !std::all_of(fixed.begin(), fixed.end(), allows)) return;
            result.complete = examine(params);
        });
        return result;
    }
    sampler::Random random;
    const History nothing{settings.description().name, {}, {}, {}};
    for (std::uint64_t draw = 0; draw < limits.draws; ++draw) {
        const TrialContext context{static_cast<std::int64_t>(draw), nothing};
        if (!examine(suggest_params(random, space, context, Seed{0}, fixed))) break;
    }
    return result;
}

}  // namespace hpo::tune
