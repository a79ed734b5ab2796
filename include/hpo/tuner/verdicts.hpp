// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/base/bytes.hpp"
#include "hpo/base/whole_characters.hpp"
#include "hpo/core/attributes.hpp"
#include "hpo/core/study.hpp"
#include "hpo/failure/cause.hpp"
#include "hpo/failure/classify.hpp"
#include "hpo/failure/oom_message.hpp"
#include "hpo/failure/python_error.hpp"
#include "hpo/failure/source_attributes.hpp"
#include "hpo/recovery/concept.hpp"
#include "hpo/store/store.hpp"
#include "hpo/tuner/options.hpp"
#include "hpo/tuner/reserved_attributes.hpp"
#include "hpo/tuner/study_event.hpp"

namespace hpo::tuner {

/// The name of the memory constraint. Its value is required memory / capacity - 1. It is above 0 if the trial cannot fit.
inline constexpr const char* memory_constraint = "memory";

/// The user attribute that says why a trial was pruned.

/// The memory constraint of a failed attempt: the least memory that it is known to require, over the capacity that it had, minus 1. Always
/// above 0, because the attempt did not fit.
[[nodiscard]] double memory_violation(const Failure& failure, std::optional<std::int64_t> capacity_bytes);

/// Ends a trial whose attempt reached its end. It becomes COMPLETE with its values. If a value is NaN, or if their number is wrong, it
/// becomes FAIL, and the failure is returned.
[[nodiscard]] std::optional<Failure> settle_complete(Trial& trial, std::vector<double> values, std::size_t objectives);

/// Ends a trial that the pruner stopped. It becomes PRUNED. Its value is that of its last report, as in Optuna; it has none if that is NaN.
void settle_pruned(Trial& trial, const std::string& reason);

/// The failure that a trial which pruned itself gives as its reason, if it is one of memory or of the device: many programs catch an
/// out-of-memory error and raise TrialPruned with its text.
[[nodiscard]] std::optional<Failure> failure_of_pruned(const AttemptOutcome& outcome);

/// Ends a trial whose last failure was answered with `fail` or `prune`. If the rule that was asked failed itself, the trial becomes FAIL
/// and says nothing about memory. Else, if a memory failure follows from the configuration, the trial gets the memory constraint, so that
/// samplers learn where memory ends. Other causes (other processes on the device, a leak, fragmentation, the host) say nothing about the
/// configuration. Such a trial becomes FAIL, and samplers ignore it. So does one whose attempts mostly failed of such causes. If a rule
/// pruned the trial, its reason is kept as `prune_reason`.
void settle_failed(Trial& trial, const Failure& failure, const Recovery& recovery, std::optional<std::int64_t> capacity_bytes);

/// How the reason begins if a trial has had all its attempts.
inline constexpr const char* given_up = "given up after ";

/// Turns a retry that is not allowed into the trial's end. A retry is not allowed if the trial has had all its attempts, or if the trainer
/// refuses the plan or the parameters.
void bound_retry(Recovery& recovery, const Attempt& attempt, const TuneOptions& options);

/// True if an attempt that should go on from a checkpoint failed before its first report. The checkpoint may be damaged, or another program
/// may have written it.
[[nodiscard]] inline bool failed_to_go_on(const Trial& trial, const Attempt& attempt) {
    return attempt.resumed_step && attempt.failure && may_hide_cause(attempt.failure->kind) &&
           trial.intermediate.upper_bound(*attempt.resumed_step) == trial.intermediate.end();
}

/// The answer to such a failure: the same attempt again, from the beginning.
[[nodiscard]] Recovery begin_anew(const Attempt& attempt);

/// The checkpoint step that a retry goes on from. Returns nullopt if there is no checkpoint, or if the parameters change.
[[nodiscard]] inline std::optional<std::int64_t> resumed_by(const Recovery& recovery, const Attempt& failed) {
    if (recovery.params || failed.changed_params) return std::nullopt;
    return failed.checkpoint_step ? failed.checkpoint_step : failed.resumed_step;
}

/// Gives a finished trial that did not fail its memory constraint, peak / capacity - 1. It is at most 0, so the trial is feasible.
void settle_feasible(Trial& trial, std::optional<std::int64_t> capacity_bytes);

/// Cuts text at `limit` bytes, between characters, so that the texts of a trial do not fill the store.
void clip(std::string& text, std::size_t limit);

/// Removes a trainer's attributes that cannot be kept, and returns them. `can_keep(json)` is false if the store would refuse the value.
template <class CanKeep>
[[nodiscard]] std::vector<DroppedAttribute> drop_attributes(Attributes& told, const CanKeep& can_keep) {
    std::vector<DroppedAttribute> dropped;
    std::string begins;
    for (auto item = told.begin(); item != told.end();) {
        const bool is_reserved = is_reserved_attribute(item->first);
        if (!is_reserved && can_keep(item->second)) {
            ++item;
            continue;
        }
        clip(item->second, 60);
        begins += (dropped.empty() ? "" : ", ") + json_quote(item->first) + ": " + json_quote(item->second);
        dropped.push_back({item->first, item->second, is_reserved ? DroppedAttribute::Why::reserved : DroppedAttribute::Why::no_json});
        item = told.erase(item);
    }
    if (!dropped.empty()) told.set_json(dropped_attribute, "{" + begins + "}");
    return dropped;
}

/// Adds a trainer's attributes and constraints to the trial, and returns the attributes that cannot be kept.
[[nodiscard]] std::vector<DroppedAttribute> attach(Trial& trial, AttemptOutcome& outcome, const Store& store);

/// Moves what an attempt's end tells of itself into the attempt. The outcome's values and attributes are the trial's.
void keep_outcome(Attempt& attempt, AttemptOutcome& outcome);

/// Keeps what the recovery policy answered.
inline void keep_answer(Attempt& attempt, const Recovery& answer) {
    attempt.decision = answer.reason;
    attempt.answered_by = answer.rung.empty() ? answer.place : answer.rung;
}

/// Finds the cause of a memory failure from its figures and from the memory reading at the attempt's start.
void explain(Attempt& attempt, std::optional<std::int64_t> capacity_bytes);

/// Adds the user attributes that readers of the field's older tools look for.
void add_source_attributes(Trial& trial);

inline double memory_violation(const Failure& failure, std::optional<std::int64_t> capacity_bytes) {
    constexpr double least = 1e-6;
    const auto capacity = failure.memory.limit ? failure.memory.limit : failure.memory.capacity ? failure.memory.capacity : capacity_bytes;
    if (!capacity || *capacity <= 0 || !failure.requested_bytes) return least;
    const auto held = static_cast<double>(failure.memory.allocated.value_or(0));
    return std::max(least, (held + static_cast<double>(*failure.requested_bytes)) / static_cast<double>(*capacity) - 1);
}

inline std::optional<Failure> settle_complete(Trial& trial, std::vector<double> values, std::size_t objectives) {
    Failure failure;
    failure.kind = FailureKind::non_finite;
    failure.where = "objective";
    bool has_nan = false;
    for (const double value : values) has_nan = has_nan || std::isnan(value);
    if (values.size() != objectives) {
        failure.kind = FailureKind::trainer_error;
        failure.message =
            "the trainer returned " + std::to_string(values.size()) + " values for " + std::to_string(objectives) + " objectives";
    } else if (has_nan) {
        failure.message = "the objective is NaN";
    } else {
        trial.state = TrialState::complete;
        trial.values = std::move(values);
        return std::nullopt;
    }
    trial.state = TrialState::fail;
    return failure;
}

inline void settle_pruned(Trial& trial, const std::string& reason) {
    trial.state = TrialState::pruned;
    if (const auto last = trial.intermediate.rbegin(); last != trial.intermediate.rend() && !std::isnan(last->second))
        trial.values = {last->second};
    if (!reason.empty()) trial.user_attributes[prune_reason_attribute] = json_quote(reason);
}

inline std::optional<Failure> failure_of_pruned(const AttemptOutcome& outcome) {
    if (outcome.prune_reason.empty()) return std::nullopt;
    Failure failure = classify_python(outcome.prune_reason);
    const bool has_figures = read_oom_figures(outcome.prune_reason).has_value();
    const bool names_error = exception_from_repr(outcome.prune_reason) || outcome.prune_reason.find("Error") != std::string::npos;
    // A sentence about memory, such as "memory is nearly full", is a reason and no failure.
    if (failure.kind == FailureKind::host_out_of_memory || failure.kind == FailureKind::out_of_memory)
        return has_figures || names_error ? std::optional{std::move(failure)} : std::nullopt;
    const bool is_of_device = failure.kind == FailureKind::cuda_sticky || failure.kind == FailureKind::cuda_transient;
    return is_of_device && names_error ? std::optional{std::move(failure)} : std::nullopt;
}

inline void settle_failed(Trial& trial, const Failure& failure, const Recovery& recovery, std::optional<std::int64_t> capacity_bytes) {
    trial.state = recovery.action == Recovery::Action::prune ? TrialState::pruned : TrialState::fail;
    if (!recovery.rule_error.empty()) {
        trial.user_attributes[rule_error_attribute] = json_quote(recovery.rule_error);
        return;
    }
    if (is_memory(failure.kind)) {
        // The last attempt may be the one of many that met a full device and was told otherwise.
        std::int64_t own = 0;
        for (const Attempt& attempt : trial.attempts) {
            if (!attempt.failure || !is_memory(attempt.failure->kind)) continue;
            own += follows_from_configuration(attempt.failure->cause.value_or(OomCause::unknown)) ? 1 : -1;
        }
        if (own >= 0 && follows_from_configuration(failure.cause.value_or(OomCause::unknown))) {
            trial.constraints[memory_constraint] = memory_violation(failure, capacity_bytes);
        } else {
            trial.state = TrialState::fail;
        }
    }
    if (trial.state == TrialState::pruned && recovery.is_reason_of_rule)
        trial.user_attributes[prune_reason_attribute] = json_quote(recovery.reason);
}

inline void bound_retry(Recovery& recovery, const Attempt& attempt, const TuneOptions& options) {
    if (recovery.action != Recovery::Action::retry) return;
    const auto refuse = [&](const std::string& why) {
        if (!recovery.place.empty()) {  // the rule asked for what there is not
            recovery.action = Recovery::Action::fail;
            recovery.rule_error = recovery.place + ": hpo.retry: " + why;
            recovery.reason = std::string{to_text(FailureKind::script_error)} + ": " + recovery.rule_error;
            return;
        }
        recovery.action = is_memory(attempt.failure->kind) ? Recovery::Action::prune : Recovery::Action::fail;
        recovery.reason = why + "; a retry was asked for: " + recovery.reason;
    };
    const auto missing = options.refuses_plan ? options.refuses_plan(attempt.plan, recovery.plan) : std::nullopt;
    const auto wrong = options.refuses_params && recovery.params ? options.refuses_params(*recovery.params) : std::nullopt;
    if (missing) return refuse(*missing);
    if (wrong) return refuse(*wrong);
    if (attempt.index + 1 < options.max_attempts) return;
    recovery.place.clear();  // an answer is no error because others came before
    refuse(given_up + std::to_string(options.max_attempts) + " attempts");
}

inline Recovery begin_anew(const Attempt& attempt) {
    return {.action = Recovery::Action::retry,
            .plan = attempt.plan,
            .params = attempt.changed_params,
            .reason = "cannot go on from the checkpoint of step " + std::to_string(*attempt.resumed_step) + ": begun again at step 0"};
}

inline void settle_feasible(Trial& trial, std::optional<std::int64_t> capacity_bytes) {
    if (!capacity_bytes || *capacity_bytes <= 0 || trial.constraints.contains(memory_constraint)) return;
    std::optional<std::int64_t> peak;
    if (!trial.attempts.empty()) {
        const Attempt& last = trial.attempts.back();
        peak = last.peak_reserved ? last.peak_reserved : last.peak_allocated;
    }
    const double ratio = peak ? static_cast<double>(*peak) / static_cast<double>(*capacity_bytes) : 1.0;
    trial.constraints[memory_constraint] = std::min(0.0, ratio - 1);
}

inline void clip(std::string& text, std::size_t limit) {
    if (text.size() <= limit) return;
    const std::string note = "... (" + std::to_string(text.size()) + " bytes in all)";
    text.resize(whole_characters(text, limit).size());
    text += note;
}

inline std::vector<DroppedAttribute> attach(Trial& trial, AttemptOutcome& outcome, const Store& store) {
    std::vector<DroppedAttribute> dropped =
        drop_attributes(outcome.attributes, [&](std::string_view json) { return store.can_keep(json); });
    for (auto& [name, json] : outcome.attributes) trial.user_attributes[name] = std::move(json);
    for (const auto& [name, value] : outcome.constraints) trial.constraints[name] = value;
    return dropped;
}

inline void keep_outcome(Attempt& attempt, AttemptOutcome& outcome) {
    attempt.seconds = outcome.seconds;
    attempt.outcome = outcome.kind;
    attempt.failure = std::move(outcome.failure);
    if (attempt.failure) attempt.failure->memory = without_nonsense(std::move(attempt.failure->memory));
    attempt.peak_allocated = size_of_memory(outcome.peak_allocated);
    attempt.peak_reserved = size_of_memory(outcome.peak_reserved);
    attempt.approximate = outcome.approximate;
    if (outcome.worker_pid != 0) attempt.worker_pid = outcome.worker_pid;
}

inline void explain(Attempt& attempt, std::optional<std::int64_t> capacity_bytes) {
    clip(attempt.failure->message, 16 << 10);
    clip(attempt.failure->traceback, 64 << 10);
    OomContext context{.at_start = std::nullopt, .capacity = capacity_bytes};
    for (const MemoryMark& mark : attempt.memory) {
        if (mark.name == "trial_start") context.at_start = mark.reading;
    }
    explain_oom(*attempt.failure, context);
}

inline void add_source_attributes(Trial& trial) {
    const Attempt& last = trial.attempts.back();
    for (auto& [name, json] : source_attributes(trial, &last, last.failure ? &*last.failure : nullptr)) {
        if (name == prune_reason_attribute && trial.user_attributes.contains(name)) continue;  // the reason of a rule says more
        trial.user_attributes[name] = std::move(json);
    }
}

}  // namespace hpo::tuner
