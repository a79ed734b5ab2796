// SPDX-License-Identifier: MIT
#include "hpo/analysis/silent_failures/silent_failure.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <range/v3/range/conversion.hpp>
#include <range/v3/view/filter.hpp>
#include <range/v3/view/take.hpp>
#include <range/v3/view/transform.hpp>

#include "hpo/analysis/silent_failures/pace.hpp"

namespace hpo::analysis::detail {

/// Finds silent trials that were set to FAIL within one second. All of them were running when the first ended, and each had run for longer
/// than that second.
void find_together(std::span<SilentFailure> silent) {
    std::vector<SilentFailure*> ended;
    for (SilentFailure& entry : silent) {
        if (entry.seconds && *entry.seconds >= 2) ended.push_back(&entry);
    }
    std::ranges::stable_sort(ended, [](const auto* a, const auto* b) { return *a->trial->completed < *b->trial->completed; });
    for (std::size_t first = 0; first < ended.size();) {
        const Time end = *ended[first]->trial->completed;
        std::size_t next = first + 1;
        while (next < ended.size() && seconds_between(end, *ended[next]->trial->completed) < 1 && *ended[next]->trial->started < end)
            ++next;
        constexpr std::size_t most = 20;  // trials that are named
        const auto group = std::span{ended}.subspan(first, next - first);
        for (SilentFailure* entry : group) {
            const auto is_other = [&](const SilentFailure* other) { return other != entry; };
            const auto number = [](const SilentFailure* other) { return other->trial->number; };
            entry->together_with = group | ranges::views::filter(is_other) | ranges::views::take(most) | ranges::views::transform(number) |
                                   ranges::to<std::vector>();
        }
        first = next;
    }
}

/// Finds how long after each silent failure the next trial began. If the process is known, this is the next trial of that process.
/// Otherwise it is the next of the study, and only if no other trial was running. If that is unknown, `next_after` stays empty.
void find_next(std::span<SilentFailure> silent, std::span<const Trial> trials) {
    std::vector<const Trial*> by_start;
    for (const Trial& trial : trials) {
        if (trial.started) by_start.push_back(&trial);
    }
    std::ranges::stable_sort(by_start, [](const Trial* a, const Trial* b) { return *a->started < *b->started; });
    std::vector<Time> latest_end(by_start.size());  // the latest end up to here; infinite if a trial still runs
    Time latest{};
    for (std::size_t i = 0; i < by_start.size(); ++i) {
        latest = std::max(latest, by_start[i]->completed.value_or(Time{std::chrono::microseconds{INT64_MAX}}));
        latest_end[i] = latest;
    }
    for (SilentFailure& entry : silent) {
        if (!entry.trial->completed || !entry.trial->started) continue;
        const Time end = *entry.trial->completed;
        const auto next = std::ranges::upper_bound(by_start, end, std::less{}, [](const Trial* trial) { return *trial->started; });
        if (next == by_start.end()) continue;
        const std::string process = foreign_process(*entry.trial);
        const auto index = static_cast<std::size_t>(next - by_start.begin());
        if (process.empty()) {
            if (index > 0 && latest_end[index - 1] <= end) entry.next_after = seconds_between(end, *(*next)->started);
            continue;
        }
        const auto stop = by_start.begin() + static_cast<std::ptrdiff_t>(std::min(by_start.size(), index + 1000));
        const auto same = std::find_if(next, stop, [&](const Trial* trial) { return foreign_process(*trial) == process; });
        if (same != stop) entry.next_after = seconds_between(end, *(*same)->started);
    }
}

/// Finds failures that ended after the same time. A limit of time looks like that. A trial that fails in its first steps does so, too, so
/// each must have reports, or have run for longer than any complete trial. Where complete trials take that time, too, there is no limit.
void find_time_limit(std::span<SilentFailure> silent, std::span<const Trial> trials, const Pace& pace) {
    constexpr double least_seconds = 30;
    constexpr std::size_t fewest = 3;
    std::vector<SilentFailure*> timed;
    for (SilentFailure& entry : silent) {
        const bool came_far = !entry.trial->intermediate.empty() || (pace.trials > 0 && entry.seconds.value_or(0) >= pace.most_seconds);
        if (entry.seconds.value_or(0) >= least_seconds && came_far && entry.pattern != SilentPattern::vanished &&
            entry.pattern != SilentPattern::together && entry.pattern != SilentPattern::last_report)
            timed.push_back(&entry);
    }
    std::ranges::stable_sort(timed, {}, [](const SilentFailure* entry) { return *entry->seconds; });
    std::span<SilentFailure*> widest;
    for (std::size_t first = 0, end = 0; first < timed.size(); ++first) {
        const double most = *timed[first]->seconds + std::max(2.0, 0.005 * *timed[first]->seconds);
        while (end < timed.size() && *timed[end]->seconds <= most) ++end;
        if (end - first > widest.size()) widest = std::span{timed}.subspan(first, end - first);
    }
    if (widest.size() < fewest || 2 * widest.size() < timed.size()) return;
    const auto as_long = std::ranges::count_if(trials, [&](const Trial& trial) {
        const auto took = trial.state == TrialState::complete ? detail::trial_seconds(trial) : std::nullopt;
        return took && *took >= 0.99 * *widest.front()->seconds && *took <= 1.01 * *widest.back()->seconds;
    });
    if (3 * static_cast<std::size_t>(as_long) > widest.size()) return;
    for (SilentFailure* entry : widest) entry->pattern = SilentPattern::time_limit;
}

/// Finds runs of trials that failed at once, one after the other. A run counts if chance, with the share of such failures outside of it,
/// makes one as long less than once in a hundred times.
void find_rows(std::span<SilentFailure> silent, std::span<const Trial> trials) {
    std::map<const Trial*, SilentFailure*> quick;
    for (SilentFailure& entry : silent) {
        const bool at_once = entry.pattern == SilentPattern::at_once || entry.pattern == SilentPattern::before_params;
        if (at_once) quick.emplace(entry.trial, &entry);
    }
    constexpr std::size_t fewest = 5;
    if (quick.size() < fewest) return;
    std::size_t ended = 0;
    std::vector<std::vector<SilentFailure*>> runs(1);
    for (const Trial& trial : trials) {
        if (!is_finished(trial.state)) continue;
        ++ended;
        const auto found = quick.find(&trial);
        if (found != quick.end()) runs.back().push_back(found->second);
        else if (!runs.back().empty()) runs.emplace_back();
    }
    for (const std::vector<SilentFailure*>& run : runs) {
        if (run.size() < fewest) continue;
        const auto others = static_cast<double>(ended - run.size());
        const double share = (static_cast<double>(quick.size() - run.size()) + 1) / (others + 2);
        if (std::pow(share, static_cast<double>(run.size())) * static_cast<double>(ended) > 0.01) continue;
        for (SilentFailure* entry : run) {
            entry->pattern = SilentPattern::in_a_row;
            entry->run = run.size();
        }
    }
}

[[nodiscard]] SilentPattern pattern_of(const SilentFailure& entry, const Pace& pace) {
    const Trial& trial = *entry.trial;
    if (entry.repeated_by) return SilentPattern::vanished;
    const bool reported = !trial.intermediate.empty();
    if (reported && !std::isfinite(trial.intermediate.rbegin()->second)) return SilentPattern::last_report;
    if (!entry.together_with.empty()) return SilentPattern::together;
    if (!entry.seconds) return SilentPattern::untimed;
    if (trial.params.empty() && !reported) return SilentPattern::before_params;
    constexpr double clearly_longer = 1.25;
    if (pace.trials > 0 && *entry.seconds > clearly_longer * pace.most_seconds && *entry.seconds > pace.most_seconds + 1)
        return SilentPattern::longer;
    if (reported && pace.last_step && trial.intermediate.rbegin()->first >= *pace.last_step) return SilentPattern::as_long;
    if (pace.trials == 0) return !reported && *entry.seconds < 10 ? SilentPattern::at_once : SilentPattern::untimed;
    if (!reported && *entry.seconds < pace.low_seconds / 10) return SilentPattern::at_once;
    // Reports show how far the trial came. Without reports, only its time does.
    if (*entry.seconds >= pace.low_seconds && !(reported && pace.last_step)) return SilentPattern::as_long;
    return SilentPattern::between;
}

}  // namespace hpo::analysis::detail

namespace hpo::analysis {

std::vector<SilentFailure> silent_failures(std::span<const FailureCase> cases, std::span<const Trial> trials, const Pace& pace) {
    std::vector<SilentFailure> silent;
    for (const FailureCase& entry : cases) {
        if (!entry.silent()) continue;
        silent.push_back(
            {.trial = entry.trial, .seconds = entry.seconds, .repeated_by = entry.repeated_by, .together_with = {}, .next_after = {}});
    }
    if (silent.empty()) return silent;
    detail::find_together(silent);
    detail::find_next(silent, trials);
    for (SilentFailure& entry : silent) {
        entry.pattern = detail::pattern_of(entry, pace);
        entry.before_any_complete = entry.trial->started && (!pace.first_end || *entry.trial->started < *pace.first_end);
    }
    detail::find_time_limit(silent, trials, pace);
    detail::find_rows(silent, trials);
    return silent;
}

}  // namespace hpo::analysis
