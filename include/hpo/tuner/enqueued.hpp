// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "hpo/failure/source_attributes.hpp"
#include "hpo/sampler/suggest.hpp"
#include "hpo/tuner/study_event.hpp"
#include "hpo/tuner/verdicts.hpp"

namespace hpo::tuner {

/// Why a trial cannot be launched with its enqueued values. The trial then ends with this failure. The study goes on.
struct Unlaunchable {
    Failure failure;
    double violation = 0;  ///< of the memory constraint; 0 if the values are to blame and not the memory
};

/// Ends such a trial: infeasible if the guard refused it, else FAIL. It was never launched and has no attempt. Its attributes say why.
inline void settle_unlaunchable(Trial& trial, const Unlaunchable& why) {
    trial.state = why.violation > 0 ? TrialState::pruned : TrialState::fail;
    if (why.violation > 0) trial.constraints[memory_constraint] = why.violation;
    for (auto& [name, json] : source_attributes(trial, nullptr, &why.failure)) trial.user_attributes[name] = std::move(json);
}

/// Finds enqueued values that a trial does not use. Each name is told once.
class EnqueuedValues {
public:
    /// One message for each enqueued value that the trial's parameters do not have, or that their distribution does not have. The space did
    /// not ask for the name, the trial failed before, the run fixes it at another value, or the program takes values beyond its range.
    [[nodiscard]] std::vector<std::string> not_used(const Trial& trial) {
        std::vector<std::string> found;
        for (const auto& [name, value] : trial.fixed) {
            const Param* const param = trial.params.find(name);
            const bool has_it = param && to_internal_as_written(*param->distribution, value) == param->internal;
            if (has_it || std::find(told_.begin(), told_.end(), name) != told_.end()) continue;
            told_.push_back(name);
            const std::string what = "enqueued parameter '" + name + "'";
            const bool is_beyond = param && to_internal_unbounded(*param->distribution, value) == param->internal;
            if (is_beyond)
                found.push_back(what + ": " + display_text(value) + " is no value of " + describe(*param->distribution) +
                                "; the trial has it all the same");
            else if (param)
                found.push_back(what + ": the run fixes it at " + display_text(param->value()) + ", not " + display_text(value));
            else if (trial.state == TrialState::fail) found.push_back(what + ": the trial failed before it had the value");
            else found.push_back(what + ": the space does not ask for it in this trial; it asks for " + names_of(trial.params));
        }
        return found;
    }

    void tell_unused(const Trial& trial, TuneObserver& observer) {
        for (const std::string& what : not_used(trial)) observer.on(event::ValueLeftOut{trial, what});
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
