// SPDX-License-Identifier: MIT
#include "hpo/analysis/silent_failures/stale_trials.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "hpo/analysis/failure_cases/failure_case.hpp"

namespace hpo::analysis::detail {

/// The time from a trial's start to the next trial's, or to now. Nullopt if another trial ran or ended in between. The trials in `gone`
/// run no more.
[[nodiscard]] std::optional<double> idle_after(const Trial& lost, std::span<const Trial> trials, std::optional<Time> now,
                                               const std::set<const Trial*>& gone) {
    std::optional<Time> next;
    for (const Trial& trial : trials) {
        if (&trial == &lost || !trial.started) continue;
        if (*trial.started > *lost.started) {
            next = std::min(next.value_or(*trial.started), *trial.started);
        } else if (!gone.contains(&trial) && (!trial.completed || *trial.completed > *lost.started)) {
            return std::nullopt;
        }
    }
    if (!next) next = now;
    return next && *next > *lost.started ? std::optional{seconds_between(*lost.started, *next)} : std::nullopt;
}

}  // namespace hpo::analysis::detail

namespace hpo::analysis {

std::vector<StaleTrial> stale_trials(std::span<const Trial> trials, std::optional<double> silent_seconds) {
    constexpr double without_comparison = 3600;
    std::vector<StaleTrial> stale;
    const auto may_be_stale = [](const Trial& trial) {
        return trial.state == TrialState::running && trial.attempts.empty() && trial.started;
    };
    if (std::ranges::none_of(trials, may_be_stale)) return stale;
    std::optional<Time> last;
    std::optional<double> longest;
    std::vector<Time> ended_starts;  // of trials that have ended
    for (const Trial& trial : trials) {
        if (is_finished(trial.state) && trial.started && trial.completed) ended_starts.push_back(*trial.started);
        for (const auto& moment : {trial.started, trial.completed}) {
            if (moment && (!last || *moment > *last)) last = moment;
        }
        if (is_finished(trial.state)) longest = std::max(longest.value_or(0), detail::trial_seconds(trial).value_or(0));
    }
    std::ranges::sort(ended_starts);
    // By the study's own clock, whatever its time zone is.
    const auto now =
        silent_seconds ? std::optional{*last + std::chrono::microseconds{static_cast<std::int64_t>(*silent_seconds * 1e6)}} : std::nullopt;
    const double most = longest ? std::max(1.0, 3 * *longest) : without_comparison;
    for (const Trial& trial : trials) {
        if (!may_be_stale(trial)) continue;
        const auto later = static_cast<std::size_t>(ended_starts.end() - std::ranges::upper_bound(ended_starts, *trial.started));
        const auto clock = later > 0 ? last : now;
        if (!clock || seconds_between(*trial.started, *clock) <= most) continue;
        stale.push_back(
            {.trial = &trial, .seconds = seconds_between(*trial.started, *clock), .ended_meanwhile = later, .idle_seconds = {}});
    }
    std::set<const Trial*> gone;
    for (const StaleTrial& entry : stale) gone.insert(entry.trial);
    for (StaleTrial& entry : stale) entry.idle_seconds = detail::idle_after(*entry.trial, trials, now, gone);
    return stale;
}

}  // namespace hpo::analysis
