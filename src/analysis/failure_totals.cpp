// SPDX-License-Identifier: MIT
#include "hpo/analysis/failure_totals.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <range/v3/view/chunk_by.hpp>

#include "hpo/analysis/failure_cases/failure_name.hpp"
#include "hpo/analysis/failure_cases/finite_values.hpp"

namespace hpo::analysis::detail {

std::optional<std::int64_t> most_frequent(std::vector<std::int64_t> numbers) {
    std::ranges::sort(numbers);
    std::optional<std::int64_t> most;
    std::ptrdiff_t times = 0;
    for (const auto& equal : numbers | ranges::views::chunk_by(std::equal_to{})) {
        if (ranges::distance(equal) < times) continue;
        times = ranges::distance(equal);
        most = *equal.begin();
    }
    return most;
}

std::optional<std::int64_t> usual_capacity(std::span<const Trial> trials, std::span<const FailureCase> cases) {
    std::vector<std::int64_t> capacities;
    const auto add = [&](const MemoryReading& reading) {
        if (reading.capacity) capacities.push_back(*reading.capacity);
    };
    for (const FailureCase& entry : cases) add(entry.failure.memory);
    for (const Trial& trial : trials) {
        if (const auto start = start_of(trial, nullptr)) add(*start);
        for (const Attempt& attempt : trial.attempts) {
            if (!attempt.memory.empty()) add(attempt.memory.front().reading);
        }
    }
    return most_frequent(std::move(capacities));
}

/// The capacity of the device of the attempt with the highest peak, or of the device that another program's trial told.
[[nodiscard]] std::optional<std::int64_t> capacity_at_peak(const Trial& trial) {
    const auto highest = std::ranges::max_element(trial.attempts, {}, [](const Attempt& attempt) { return peak_of(attempt); });
    if (highest == trial.attempts.end()) {
        const auto start = start_of(trial, nullptr);
        return start ? start->capacity : std::nullopt;
    }
    if (!highest->memory.empty() && highest->memory.front().reading.capacity) return highest->memory.front().reading.capacity;
    return highest->failure && highest->failure->memory.capacity ? highest->failure->memory.capacity : highest->capacity_bytes;
}

/// True for a complete trial whose value is no result: it is not finite, or another trial that caught an error has the same.
[[nodiscard]] bool returned_penalty(const FailureCase& entry, std::span<const FailureCase> cases) {
    return !has_finite_values(*entry.trial) || std::ranges::any_of(cases, [&](const FailureCase& other) {
        return other.caught && other.trial != entry.trial && other.trial->values == entry.trial->values;
    });
}

}  // namespace hpo::analysis::detail

namespace hpo::analysis {

FailureTotals failure_totals(std::span<const Trial> trials, std::span<const FailureCase> cases, const SilentReport& silent) {
    FailureTotals totals{count(trials, cases), {}, {}, {}, 0, detail::usual_capacity(trials, cases), {}};
    totals.vanished_running = silent.stale.size();
    totals.open_running = silent.open.size();
    for (const StaleTrial& entry : silent.stale) {
        if (entry.ended_meanwhile > 0) add_known(totals.idle_seconds, entry.idle_seconds);  // else the trial may still run
    }
    totals.abandoned_running = silent.abandoned.size();
    totals.unreported_prunes = silent.pruned.size();
    totals.unexplained_infinite = silent.values.infinite.size();
    totals.penalised = silent.values.penalised.size();
    for (const FailureCase& entry : cases) {
        if (entry.silent()) ++totals.silent_failures;
        if (entry.only_value_is_known()) ++totals.unexplained_nan;
        Tally& tally = entry.is_oom() ? totals.causes[entry.failure.cause.value_or(OomCause::unknown)]
                                      : totals.others[std::string{failure_name(entry)}];
        ++tally.count;
        if (entry.caught && !detail::returned_penalty(entry, cases)) continue;  // the program went on to a result of its own
        add_known(tally.seconds, entry.seconds);
        if (entry.is_oom()) add_known(totals.wasted_seconds, entry.seconds);
    }
    if (totals.causes.empty()) totals.wasted_seconds = 0;
    for (const Trial& trial : trials) {
        totals.total_seconds += detail::trial_seconds(trial).value_or(0);
        if (const auto peak = peak_of(trial); peak && (!totals.highest_peak || *peak > totals.highest_peak->bytes))
            totals.highest_peak = PeakUse{.trial = trial.number, .bytes = *peak, .capacity_bytes = detail::capacity_at_peak(trial)};
    }
    return totals;
}

}  // namespace hpo::analysis
