// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <range/v3/range/conversion.hpp>
#include <range/v3/view/filter.hpp>
#include <range/v3/view/take.hpp>
#include <range/v3/view/transform.hpp>

#include "hpo/analysis/silent/pace.hpp"
#include "hpo/analysis/silent/silent_failure.hpp"
#include "hpo/base/inline.hpp"

namespace hpo::analysis::detail {

/// Finds silent trials that were set to FAIL within one second. All of them were running when the first ended, and each had run for longer
/// than that second.
HPO_INLINE void find_together(std::span<SilentFailure> silent) {
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
HPO_INLINE void find_next(std::span<SilentFailure> silent, std::span<const Trial> trials) {
    std::vector<const Trial*> by_start;
    for (const Trial& trial : trials) {
        if (trial.started) by_start.push_back(&trial);
    }
    std::ranges::stable_sort(by_start, [](const Trial* a, const Trial* b) { return *a->started < *b->started; });
    std::vector<Time> latest_end(by_start.size());  // the latest end up to here; infinite if a trial still runs
    Time latest{};
    for (std::size_t i = 0; i < by_start.size(); ++i) {
        latest = std::max(latest, by_start[i]->completed.value_or(Time{INT64_MAX}));
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

[[nodiscard]] HPO_INLINE SilentPattern pattern_of(const SilentFailure& entry, const Pace& pace) {
    const Trial& trial = *entry.trial;
    if (entry.repeated_by) return SilentPattern::vanished;
    const bool reported = !trial.intermediate.empty();
    if (reported && !std::isfinite(trial.intermediate.rbegin()->second)) return SilentPattern::last_report;
    if (!entry.together_with.empty()) return SilentPattern::together;
    if (!entry.seconds) return SilentPattern::untimed;
    if (trial.params.empty() && !reported) return SilentPattern::before_params;
    if (reported && pace.last_step && trial.intermediate.rbegin()->first >= *pace.last_step) return SilentPattern::as_long;
    if (pace.trials == 0) return !reported && *entry.seconds < 10 ? SilentPattern::at_once : SilentPattern::untimed;
    if (!reported && *entry.seconds < pace.low_seconds / 10) return SilentPattern::at_once;
    // Reports show how far the trial came. Without reports, only its time does.
    if (*entry.seconds >= pace.low_seconds && !(reported && pace.last_step)) return SilentPattern::as_long;
    return SilentPattern::between;
}

}  // namespace hpo::analysis::detail

namespace hpo::analysis::inline silent {

HPO_INLINE std::vector<SilentFailure> silent_failures(std::span<const FailureCase> cases, std::span<const Trial> trials) {
    std::vector<SilentFailure> silent;
    for (const FailureCase& entry : cases) {
        if (!entry.silent()) continue;
        silent.push_back(
            {.trial = entry.trial, .seconds = entry.seconds, .repeated_by = entry.repeated_by, .together_with = {}, .next_after = {}});
    }
    if (silent.empty()) return silent;
    const Pace pace = pace_of(trials);
    detail::find_together(silent);
    detail::find_next(silent, trials);
    for (SilentFailure& entry : silent) {
        entry.pattern = detail::pattern_of(entry, pace);
        entry.before_any_complete = entry.trial->started && (!pace.first_end || *entry.trial->started < *pace.first_end);
    }
    return silent;
}

}  // namespace hpo::analysis::silent
