// SPDX-License-Identifier: MIT
#include "analyze/shown/brief_json.hpp"

#include "hpo/analysis/changed_params.hpp"
#include "hpo/analysis/failure_cases/failure_case.hpp"
#include "hpo/analysis/study_counts.hpp"

namespace hpo::analyze {

using namespace hpo::tools;

Json brief_json(const hpo::Trial& trial) {
    const hpo::Attempt* last = hpo::analysis::last_attempt(trial);
    Json values = Json::array();
    for (const double value : trial.values) values.push_back(to_json(value));
    return {{"number", trial.number},
            {"state", to_text(trial.state)},
            {"values", std::move(values)},
            {"feasible", trial.feasible()},
            {"interrupted", hpo::analysis::is_interrupted(trial)},
            {"params", to_json(trial.params)},
            {"changed_params", last && last->changed_params ? to_json(*last->changed_params) : Json(nullptr)},
            {"started", time_or_null(trial.started)},
            {"completed", time_or_null(trial.completed)},
            {"seconds", or_null(hpo::analysis::detail::trial_seconds(trial))},
            {"attempts", trial.attempts.size()},
            {"peak_bytes", or_null(hpo::analysis::peak_of(trial))}};
}

}  // namespace hpo::analyze
