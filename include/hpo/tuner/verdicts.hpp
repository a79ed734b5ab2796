// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/core/attributes.hpp"
#include "hpo/core/bytes.hpp"
#include "hpo/core/study.hpp"
#include "hpo/failure/cause.hpp"
#include "hpo/failure/source_attributes.hpp"
#include "hpo/recovery/concept.hpp"
#include "hpo/store/store.hpp"
#include "hpo/tuner/options.hpp"
#include "hpo/tuner/reserved_attributes.hpp"

namespace hpo::tuner {

/// The name of the constraint that memory is: need / capacity - 1, above 0 when the trial cannot fit.
inline constexpr const char* memory_constraint = "memory";

/// The memory that a failed attempt is known to need at least, over the capacity it had, minus 1. Never below the
/// smallest positive violation: it did not fit.
[[nodiscard]] inline double memory_violation(const Failure& failure, std::optional<std::int64_t> capacity_bytes) {
    constexpr double least = 1e-6;
    const auto capacity = failure.memory.limit ? failure.memory.limit : failure.memory.capacity ? failure.memory.capacity : capacity_bytes;
    if (!capacity || *capacity <= 0 || !failure.requested_bytes) return least;
    const auto held = static_cast<double>(failure.memory.allocated.value_or(0));
    return std::max(least, (held + static_cast<double>(*failure.requested_bytes)) / static_cast<double>(*capacity) - 1);
}

/// Ends a trial whose attempt reached its end: COMPLETE with its values, FAIL when one is NaN or their number is wrong.
/// The failure that makes it FAIL is returned.
[[nodiscard]] inline std::optional<Failure> settle_complete(Trial& trial, std::vector<double> values, std::size_t objectives) {
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

/// Ends a trial that the pruner stopped: PRUNED, its value the last finite intermediate one, as Optuna has it.
inline void settle_pruned(Trial& trial, const std::string& reason) {
    trial.state = TrialState::pruned;
    for (auto it = trial.intermediate.rbegin(); it != trial.intermediate.rend(); ++it) {
        if (std::isfinite(it->second)) {
            trial.values = {it->second};
            break;
        }
    }
    if (!reason.empty()) trial.user_attributes["prune_reason"] = json_quote(reason);
}

/// Ends a trial whose last failure was answered with `fail` or `prune`. A memory failure that follows from the configuration
/// leaves its violation, so that samplers learn where memory ends. One that could have hit any trial (a neighbour, a leak,
/// fragmentation, the host) says nothing about the configuration: it is FAIL, which samplers pass over.
inline void settle_failed(Trial& trial, const Failure& failure, const Recovery& recovery, std::optional<std::int64_t> capacity_bytes) {
    trial.state = recovery.action == Recovery::Action::prune ? TrialState::pruned : TrialState::fail;
    if (!recovery.rule_error.empty()) trial.user_attributes[rule_error_attribute] = json_quote(recovery.rule_error);
    if (!is_memory(failure.kind)) return;
    if (follows_from_configuration(failure.cause.value_or(OomCause::unknown))) {
        trial.constraints[memory_constraint] = memory_violation(failure, capacity_bytes);
    } else {
        trial.state = TrialState::fail;
    }
}

/// A retry beyond the attempts that a trial may have, under a plan that the trainer would not obey, or with parameters that it would
/// refuse, becomes the trial's end.
inline void bound_retry(Recovery& recovery, const Attempt& attempt, const TuneOptions& options) {
    if (recovery.action != Recovery::Action::retry) return;
    const auto refuse = [&](const std::string& why) {
        recovery.action = is_memory(attempt.failure->kind) ? Recovery::Action::prune : Recovery::Action::fail;
        recovery.reason = why + "; a retry was asked for: " + recovery.reason;
    };
    const auto missing = options.refuses_plan ? options.refuses_plan(attempt.plan, recovery.plan) : std::nullopt;
    const auto wrong = options.refuses_params && recovery.params ? options.refuses_params(*recovery.params) : std::nullopt;
    if (missing) refuse(*missing);
    else if (wrong) refuse(*wrong);
    else if (attempt.index + 1 >= options.max_attempts) refuse("given up after " + std::to_string(options.max_attempts) + " attempts");
}

/// A finished trial that ran within its device is feasible: its constraint is peak / capacity - 1, at most 0.
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

/// Cuts text at `limit` bytes, between characters; what a trial says must not fill the store.
inline void clip(std::string& text, std::size_t limit) {
    if (text.size() <= limit) return;
    const std::string note = "... (" + std::to_string(text.size()) + " bytes in all)";
    while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0U) == 0x80U) --limit;
    text.resize(limit);
    text += note;
}

/// Removes from what a trainer told the attributes that cannot be kept, and returns them. `can_keep(json)` is false for a text that the
/// store would refuse.
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

/// Attaches what the trainer told of a trial, and returns what the store cannot keep of it.
[[nodiscard]] inline std::vector<DroppedAttribute> attach(Trial& trial, AttemptOutcome& outcome, const Store& store) {
    std::vector<DroppedAttribute> dropped =
        drop_attributes(outcome.attributes, [&](std::string_view json) { return store.can_keep(json); });
    for (auto& [name, json] : outcome.attributes) trial.user_attributes[name] = std::move(json);
    return dropped;
}

/// Finds the cause of a memory failure, from its figures and from what the attempt held when it began.
inline void explain(Attempt& attempt, std::optional<std::int64_t> capacity_bytes) {
    clip(attempt.failure->message, 16 << 10);
    clip(attempt.failure->traceback, 64 << 10);
    OomContext context{.at_start = std::nullopt, .capacity = capacity_bytes};
    for (const MemoryMark& mark : attempt.memory) {
        if (mark.name == "trial_start") context.at_start = mark.reading;
    }
    explain_oom(*attempt.failure, context);
}

/// The user attributes that readers of the field's older tools look for.
inline void add_source_attributes(Trial& trial) {
    const Attempt& last = trial.attempts.back();
    for (auto& [name, json] : source_attributes(trial, &last, last.failure ? &*last.failure : nullptr)) {
        trial.user_attributes[name] = std::move(json);
    }
}

}  // namespace hpo::tuner
