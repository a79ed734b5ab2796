// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "hpo/failure/source_attributes.hpp"
#include "hpo/sampler/suggest.hpp"
#include "hpo/tuner/verdicts.hpp"

namespace hpo::tuner {

/// Why a trial cannot be launched with the values that it was enqueued with. It ends with that, alone.
struct Unlaunchable {
    Failure failure;
    double violation = 0;  ///< of the memory constraint; 0: the values are to blame, not the memory
};

/// The end of such a trial: FAIL, or infeasible where the guard has refused what it asked for. It was never launched, so that it has no
/// attempt; its attributes say why.
inline void settle_unlaunchable(Trial& trial, const Unlaunchable& why) {
    trial.state = why.violation > 0 ? TrialState::pruned : TrialState::fail;
    if (why.violation > 0) trial.constraints[memory_constraint] = why.violation;
    for (auto& [name, json] : source_attributes(trial, nullptr, &why.failure)) trial.user_attributes[name] = std::move(json);
}

/// Finds enqueued values that trials run without, and says it once for each name.
class EnqueuedValues {
public:
    /// What of a trial's enqueued values its parameters do not show: names that the space did not ask for, and values that gave way to
    /// those of the whole run.
    [[nodiscard]] std::vector<std::string> not_used(const Trial& trial) {
        std::vector<std::string> found;
        for (const auto& [name, value] : trial.fixed) {
            const Param* const param = trial.params.find(name);
            const bool has_it = param && to_internal(*param->distribution, value) == param->internal;
            if (has_it || std::find(told_.begin(), told_.end(), name) != told_.end()) continue;
            told_.push_back(name);
            const std::string what = "enqueued parameter '" + name + "'";
            if (param) found.push_back(what + ": the run fixes it at " + display_text(param->value()) + ", not " + display_text(value));
            else found.push_back(what + ": the space does not ask for it in this trial; it asks for " + names_of(trial.params));
        }
        return found;
    }

private:
    static std::string names_of(const ParamSet& params) {
        std::vector<std::string> names;
        for (const Param& param : params) names.push_back(param.name);
        return join_names(names);
    }

    std::vector<std::string> told_;
};

}  // namespace hpo::tuner
