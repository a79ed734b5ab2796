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
#include "hpo/base/inline.hpp"
#include "hpo/base/whole_characters.hpp"
#include "hpo/core/study.hpp"
#include "hpo/failure/cause.hpp"
#include "hpo/failure/classify.hpp"
#include "hpo/failure/oom_message.hpp"
#include "hpo/failure/python_error.hpp"
#include "hpo/failure/source_attributes.hpp"
#include "hpo/tuner/verdicts.hpp"

namespace hpo::tuner {

HPO_INLINE double memory_violation(const Failure& failure, std::optional<std::int64_t> capacity_bytes) {
    constexpr double least = 1e-6;
    const auto capacity = failure.memory.limit ? failure.memory.limit : failure.memory.capacity ? failure.memory.capacity : capacity_bytes;
    if (!capacity || *capacity <= 0 || !failure.requested_bytes) return least;
    const auto held = static_cast<double>(failure.memory.allocated.value_or(0));
    return std::max(least, (held + static_cast<double>(*failure.requested_bytes)) / static_cast<double>(*capacity) - 1);
}

HPO_INLINE std::optional<Failure> settle_complete(Trial& trial, std::vector<double> values, std::size_t objectives) {
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

HPO_INLINE void settle_pruned(Trial& trial, const std::string& reason) {
    trial.state = TrialState::pruned;
    if (const auto last = trial.intermediate.rbegin(); last != trial.intermediate.rend() && !std::isnan(last->second))
        trial.values = {last->second};
    if (!reason.empty()) trial.user_attributes[prune_reason_attribute] = json_quote(reason);
}

HPO_INLINE std::optional<Failure> failure_of_pruned(const AttemptOutcome& outcome) {
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

HPO_INLINE void settle_failed(Trial& trial, const Failure& failure, const Recovery& recovery, std::optional<std::int64_t> capacity_bytes) {
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

HPO_INLINE void bound_retry(Recovery& recovery, const Attempt& attempt, const TuneOptions& options) {
    if (recovery.action != Recovery::Action::retry) return;
    const auto refuse = [&](const std::string& why) {
        recovery.action = is_memory(attempt.failure->kind) ? Recovery::Action::prune : Recovery::Action::fail;
        recovery.reason = why + "; a retry was asked for: " + recovery.reason;
    };
    const auto missing = options.refuses_plan ? options.refuses_plan(attempt.plan, recovery.plan) : std::nullopt;
    const auto wrong = options.refuses_params && recovery.params ? options.refuses_params(*recovery.params) : std::nullopt;
    if (missing) refuse(*missing);
    else if (wrong) refuse(*wrong);
    else if (attempt.index + 1 >= options.max_attempts) refuse(given_up + std::to_string(options.max_attempts) + " attempts");
}

HPO_INLINE Recovery begin_anew(const Attempt& attempt) {
    return {.action = Recovery::Action::retry,
            .plan = attempt.plan,
            .params = attempt.changed_params,
            .reason = "cannot go on from the checkpoint of step " + std::to_string(*attempt.resumed_step) + ": begun again at step 0"};
}

HPO_INLINE void settle_feasible(Trial& trial, std::optional<std::int64_t> capacity_bytes) {
    if (!capacity_bytes || *capacity_bytes <= 0 || trial.constraints.contains(memory_constraint)) return;
    std::optional<std::int64_t> peak;
    if (!trial.attempts.empty()) {
        const Attempt& last = trial.attempts.back();
        peak = last.peak_reserved ? last.peak_reserved : last.peak_allocated;
    }
    const double ratio = peak ? static_cast<double>(*peak) / static_cast<double>(*capacity_bytes) : 1.0;
    trial.constraints[memory_constraint] = std::min(0.0, ratio - 1);
}

HPO_INLINE void clip(std::string& text, std::size_t limit) {
    if (text.size() <= limit) return;
    const std::string note = "... (" + std::to_string(text.size()) + " bytes in all)";
    text.resize(whole_characters(text, limit).size());
    text += note;
}

HPO_INLINE std::vector<DroppedAttribute> attach(Trial& trial, AttemptOutcome& outcome, const Store& store) {
    std::vector<DroppedAttribute> dropped =
        drop_attributes(outcome.attributes, [&](std::string_view json) { return store.can_keep(json); });
    for (auto& [name, json] : outcome.attributes) trial.user_attributes[name] = std::move(json);
    for (const auto& [name, value] : outcome.constraints) trial.constraints[name] = value;
    return dropped;
}

HPO_INLINE void keep_outcome(Attempt& attempt, AttemptOutcome& outcome) {
    attempt.seconds = outcome.seconds;
    attempt.outcome = outcome.kind;
    attempt.failure = std::move(outcome.failure);
    attempt.peak_allocated = outcome.peak_allocated;
    attempt.peak_reserved = outcome.peak_reserved;
    attempt.approximate = outcome.approximate;
    if (outcome.worker_pid != 0) attempt.worker_pid = outcome.worker_pid;
}

HPO_INLINE void explain(Attempt& attempt, std::optional<std::int64_t> capacity_bytes) {
    clip(attempt.failure->message, 16 << 10);
    clip(attempt.failure->traceback, 64 << 10);
    OomContext context{.at_start = std::nullopt, .capacity = capacity_bytes};
    for (const MemoryMark& mark : attempt.memory) {
        if (mark.name == "trial_start") context.at_start = mark.reading;
    }
    explain_oom(*attempt.failure, context);
}

HPO_INLINE void add_source_attributes(Trial& trial) {
    const Attempt& last = trial.attempts.back();
    for (auto& [name, json] : source_attributes(trial, &last, last.failure ? &*last.failure : nullptr)) {
        if (name == prune_reason_attribute && trial.user_attributes.contains(name)) continue;  // the reason of a rule says more
        trial.user_attributes[name] = std::move(json);
    }
}

}  // namespace hpo::tuner
