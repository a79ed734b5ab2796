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

/// A value that somebody has fixed, and what the combinations of a space made of it.
struct FixedUse {
    std::string name;
    Value value;
    std::string known{};  ///< what the parameter may be; empty: nobody asked for it
    bool met = false;     ///< some combination has the value

    /// Notes what a combination says; false when it has another value.
    bool allows(const ParamSet& params) {
        const Param* param = params.find(name);
        if (!param) return true;
        if (known.empty()) known = describe(*param->distribution);
        const bool same = to_internal(*param->distribution, value) == param->internal;
        met = met || same;
        return same;
    }
};

/// How many combinations the fixed values leave.
std::uint64_t count_allowed(const Space& space, std::uint64_t most, std::vector<FixedUse>& fixed) {
    std::uint64_t allowed = 0;
    (void)for_each_combination(space, most, [&](const ParamSet& params, bool refused) {
        if (refused) return;
        const auto others = std::count_if(fixed.begin(), fixed.end(), [&](FixedUse& each) { return !each.allows(params); });
        allowed += others == 0 ? 1 : 0;
    });
    return allowed;
}

/// Throws for a value that no combination has, and for values that none has together.
void require_met(const std::vector<FixedUse>& fixed, std::uint64_t allowed) {
    std::vector<std::string> names;
    for (const FixedUse& each : fixed) {
        if (!each.known.empty() && !each.met) throw bad_value("fixed parameter '" + each.name + "'", display_text(each.value), each.known);
        if (!each.known.empty()) names.push_back(each.name + "=" + display_text(each.value));
    }
    if (allowed == 0 && !names.empty())
        throw Error{Errc::bad_value, "fixed parameters: no combination of the space has " + join_names(names) + " together"};
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
    const FixedValues fixed = settings.fixed();
    std::vector<FixedUse> uses;
    for (const auto& [name, value] : fixed) uses.push_back({name, value});
    const auto is_fixed = [&](const std::string& name) {
        return std::any_of(fixed.begin(), fixed.end(), [&](const auto& each) { return each.first == name; });
    };
    result.sampled = !count.exact || count.combinations > limits.most ||
                     std::any_of(count.continuous.begin(), count.continuous.end(),
                                 [&](const std::string& name) { return matters(info, name) || is_fixed(name); });
    const std::uint64_t runs = limits.most + count.refused;
    std::uint64_t of = limits.draws;
    if (!result.sampled) {
        of = count_allowed(space, runs, uses);
        require_met(uses, of);
    }
    /// False when time is up.
    const auto examine = [&](const ParamSet& params) {
        if (watch.seconds() >= limits.seconds) return false;
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
        return true;
    };
    const auto allowed = [&](const ParamSet& params) {
        return std::all_of(uses.begin(), uses.end(), [&](FixedUse& each) { return each.allows(params); });
    };
    if (!result.sampled) {
        (void)for_each_combination(space, runs, [&](const ParamSet& params, bool refused) {
            if (!refused && result.complete && allowed(params)) result.complete = examine(params);
        });
    } else {
        sampler::Random random;
        const History nothing{settings.description().name, {}, {}, {}};
        for (std::uint64_t draw = 0; draw < limits.draws && result.complete; ++draw) {
            const ParamSet params = suggest_params(random, space, TrialContext{static_cast<std::int64_t>(draw), nothing}, Seed{0}, fixed);
            static_cast<void>(allowed(params));  // notes which fixed parameters are asked for
            result.complete = examine(params);
        }
    }
    for (const FixedUse& each : uses) {
        if (each.known.empty()) result.never_asked.push_back(each.name);
    }
    return result;
}

}  // namespace hpo::tune
