// SPDX-License-Identifier: MIT
#include "hpo/analysis/study_counts.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "hpo/analysis/failure_cases/finite_values.hpp"
#include "hpo/store/store.hpp"

namespace hpo::analysis {

bool is_interrupted(const Trial& trial) { return trial.state == TrialState::fail && !counts_as_done(trial); }

bool has_only_infinite_values(std::span<const Trial> trials) {
    const auto is_complete = [](const Trial& trial) { return trial.state == TrialState::complete; };
    return std::ranges::any_of(trials, is_complete) &&
           std::ranges::none_of(trials, [&](const Trial& trial) { return is_complete(trial) && has_finite_values(trial); });
}

std::string_view state_word(const Trial& trial) {
    switch (trial.state) {
        case TrialState::running: return "running";
        case TrialState::complete: return "complete";
        case TrialState::pruned: return "pruned";
        case TrialState::fail: return is_interrupted(trial) ? "interrupted" : "failed";
        case TrialState::waiting: return "waiting";
    }
    return "";
}

void StudyCounts::add(const Trial& trial, std::span<const FailureCase> cases) {
    ++trials;
    ++of(trial);
    const bool has_ended = is_finished(trial.state) && !is_interrupted(trial);
    if (has_ended && !trial.feasible()) ++infeasible;
    attempts += trial.attempts.size();
    for (const FailureCase& entry : cases) {
        if (!entry.killed()) continue;
        ++killed_attempts;
        if (entry.lost_with_run()) ++lost_with_run;
        else if (was_killed(entry.failure)) ++ended_by_sigkill;
    }
    const auto recovered = [&](bool from_oom) {
        return std::ranges::any_of(cases, [&](const FailureCase& entry) { return entry.recovered && entry.is_oom() == from_oom; });
    };
    const bool from_oom = recovered(true);
    if (!from_oom && recovered(false)) ++recovered_otherwise;
    const auto ran_out = static_cast<std::size_t>(std::ranges::count_if(cases, &FailureCase::is_oom));
    if (ran_out == 0) return;
    oom_attempts += ran_out;
    ++oom_trials;
    if (has_ended) ++oom_ended;
    if (from_oom) ++recovered_trials;
    if (std::ranges::any_of(cases, [](const FailureCase& entry) { return entry.is_oom() && entry.caught; })) ++caught_trials;
}

std::size_t& StudyCounts::of(const Trial& trial) {
    switch (trial.state) {
        case TrialState::complete: return complete;
        case TrialState::pruned: return pruned;
        case TrialState::running: return running;
        case TrialState::waiting: return waiting;
        case TrialState::fail: break;
    }
    return is_interrupted(trial) ? interrupted : failed;
}

StudyCounts count(std::span<const Trial> trials, std::span<const FailureCase> cases) {
    StudyCounts counts;
    std::size_t begin = 0;
    for (const Trial& trial : trials) {
        std::size_t end = begin;
        while (end < cases.size() && cases[end].trial == &trial) ++end;
        counts.add(trial, cases.subspan(begin, end - begin));
        begin = end;
    }
    return counts;
}

StudyCounts count(std::span<const Trial> trials) {
    StudyCounts counts;
    each_with_failure_cases(trials, {}, [&](const Trial& trial, const std::vector<FailureCase>& cases) { counts.add(trial, cases); });
    return counts;
}

}  // namespace hpo::analysis
