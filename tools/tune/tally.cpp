// SPDX-License-Identifier: MIT
#include "tally.hpp"

#include <algorithm>

#include "hpo/store/store.hpp"

namespace hpo::tune {

void Tally::add(const Trial& trial) {
    if (!counts_as_done(trial)) return;
    const auto ooms = std::count_if(trial.attempts.begin(), trial.attempts.end(),
                                    [](const Attempt& attempt) { return attempt.failure && is_memory(attempt.failure->kind); });
    oom_attempts += ooms;
    recovered += ooms > 0 && trial.state != TrialState::fail && !trial.attempts.back().failure ? 1 : 0;
    if (trial.state == TrialState::complete) {
        ++complete;
    } else if (trial.state == TrialState::pruned) {
        ++(trial.feasible() ? pruned : infeasible);
    } else {
        ++failed;
    }
}

}  // namespace hpo::tune
