// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hpo/core/attributes.hpp"
#include "hpo/recovery/concept.hpp"
#include "hpo/store/store.hpp"
#include "hpo/tuner/options.hpp"
#include "hpo/tuner/reserved_attributes.hpp"

namespace hpo::tuner {

/// The name of the memory constraint. Its value is required memory / capacity - 1. It is above 0 if the trial cannot fit.
inline constexpr const char* memory_constraint = "memory";

/// The user attribute that says why a trial was pruned.
inline constexpr const char* prune_reason_attribute = "prune_reason";

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

/// Finds the cause of a memory failure from its figures and from the memory reading at the attempt's start.
void explain(Attempt& attempt, std::optional<std::int64_t> capacity_bytes);

/// Adds the user attributes that readers of the field's older tools look for.
void add_source_attributes(Trial& trial);

}  // namespace hpo::tuner

#ifndef HPO_COMPILED
#include "hpo/tuner/impl/verdicts_inl.hpp"
#endif
