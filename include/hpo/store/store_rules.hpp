// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/base/plain_text.hpp"
#include "hpo/store/store.hpp"

namespace hpo::store {

// What all stores share: the wording of refusals, and how an attempt grows.

[[nodiscard]] inline Error study_exists(std::string_view place, std::string_view name) {
    return {Errc::usage, std::string{place} + ": study '" + std::string{name} + "' exists already; go on with it, or choose another name"};
}
[[nodiscard]] inline Error no_study(std::string_view place, std::int64_t study_id) {
    return {Errc::store, std::string{place} + ": no study with id " + std::to_string(study_id) + "; it may have been deleted"};
}
[[nodiscard]] inline Error trial_gone(std::string_view place, const Trial& trial) {
    return {Errc::store, std::string{place} + ": trial " + std::to_string(trial.number) +
                             " is not there any more; its study may have been deleted by another process"};
}
[[nodiscard]] inline Error trial_not_running(std::string_view place, const Trial& trial, std::string_view state) {
    return {Errc::store, std::string{place} + ": trial " + std::to_string(trial.number) + " is " + std::string{state} +
                             ", not RUNNING; only the run that began a trial may change it, while it runs"};
}
[[nodiscard]] inline Error no_attempt(std::string_view place, const Trial& trial, int attempt) {
    return bad_value(place, "attempt " + std::to_string(attempt) + " of trial " + std::to_string(trial.number),
                     "an attempt that has begun");
}

void require_same_directions(std::string_view place, const Study& study, std::span<const Direction> asked);
void require_new_study(std::string_view place, std::string_view name, std::span<const Direction> directions);
void require_finishable(std::string_view place, const Trial& trial, std::size_t objectives);

/// The text of the system attribute `fixed_params` of an enqueued trial: {"x": 0.5, "model": "base"}.
[[nodiscard]] std::string fixed_params_text(const std::vector<std::pair<std::string, Value>>& fixed);

[[nodiscard]] inline bool same_moment(const MemoryMark& a, const MemoryMark& b) {
    return a.name == b.name && a.seconds == b.seconds && a.step == b.step;
}
/// Adds a mark, unless the attempt already has one of the same moment.
void add_mark(Attempt& attempt, const MemoryMark& mark);
/// Stores what is now known of an attempt. Marks and reports that were stored before stay.
Attempt& merge_attempt(Trial& stored, const Attempt& attempt);

/// The failure of an attempt whose supervisor vanished.
[[nodiscard]] Failure lost_failure(const Run& run);
/// When a trial of a run that is gone ended, as far as is known: at the run's last sign of life. The time until its loss was noticed does
/// not count.
[[nodiscard]] inline Time end_of_lost(std::optional<Time> started, Time heartbeat) {
    return started && *started > heartbeat ? *started : heartbeat;
}
inline void mark_lost(Attempt& attempt, const Run& run) {
    attempt.outcome = OutcomeKind::interrupted;
    attempt.failure = lost_failure(run);
}

inline void require_same_directions(std::string_view place, const Study& study, std::span<const Direction> asked) {
    if (asked.empty() || std::equal(asked.begin(), asked.end(), study.directions.begin(), study.directions.end())) return;
    const auto words = [](std::span<const Direction> directions) {
        std::vector<std::string> names;
        for (const Direction direction : directions) names.emplace_back(to_text(direction));
        return join_names(names);
    };
    throw bad_value(std::string{place} + ", study '" + study.name + "'", "directions " + words(asked),
                    "the stored ones: " + words(study.directions) + "; for others, begin a study of another name");
}

inline void require_new_study(std::string_view place, std::string_view name, std::span<const Direction> directions) {
    if (name.empty() || name.size() > 512) throw bad_value(place, "a study name of " + std::to_string(name.size()) + " bytes", "1 to 512");
    if (!is_plain_text(name)) {
        throw bad_value(place, "a study named " + ascii_text(name.substr(0, 80)), "a name of UTF-8 characters without control characters");
    }
    if (directions.empty()) throw bad_value(std::string{place} + ", study '" + std::string{name} + "'", "no directions", "at least one");
}

inline void require_finishable(std::string_view place, const Trial& trial, std::size_t objectives) {
    const std::string where = std::string{place} + ", trial " + std::to_string(trial.number);
    if (!is_finished(trial.state)) throw bad_value(where, "state " + std::string{to_text(trial.state)}, "COMPLETE, PRUNED or FAIL");
    if (trial.state == TrialState::complete && trial.values.size() != objectives) {
        throw bad_value(where, std::to_string(trial.values.size()) + " values", std::to_string(objectives) + ", one for each objective");
    }
    for (const double value : trial.values) {
        if (std::isnan(value)) throw bad_value(where, "a NaN objective value", "a number; a trial without one is FAIL");
    }
}

inline std::string fixed_params_text(const std::vector<std::pair<std::string, Value>>& fixed) {
    std::string text = "{";
    for (const auto& [name, value] : fixed) {
        if (text.size() > 1) text += ", ";
        text += json_quote(name) + ": " + json_text(value);
    }
    return text + "}";
}

inline void add_mark(Attempt& attempt, const MemoryMark& mark) {
    for (const MemoryMark& present : attempt.memory) {
        if (same_moment(present, mark)) return;
    }
    attempt.memory.push_back(mark);
}

inline Attempt& merge_attempt(Trial& stored, const Attempt& attempt) {
    for (Attempt& present : stored.attempts) {
        if (present.index != attempt.index) continue;
        Attempt merged = attempt;
        merged.memory = std::move(present.memory);
        for (const MemoryMark& mark : attempt.memory) add_mark(merged, mark);
        for (const auto& [step, value] : present.reports) merged.reports.emplace(step, value);
        return present = std::move(merged);
    }
    return stored.attempts.emplace_back(attempt);
}

inline Failure lost_failure(const Run& run) {
    Failure failure;
    failure.kind = FailureKind::lost_worker;
    failure.message = "process " + std::to_string(run.pid) + " on host '" + run.host + "', which supervised the trial, is gone";
    return failure;
}

}  // namespace hpo::store
