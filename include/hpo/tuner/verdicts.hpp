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

/// The name of the constraint that memory is: need / capacity - 1, above 0 when the trial cannot fit.
inline constexpr const char* memory_constraint = "memory";

/// The memory that a failed attempt is known to need at least, over the capacity it had, minus 1. Never below the
/// smallest positive violation: it did not fit.
[[nodiscard]] double memory_violation(const Failure& failure, std::optional<std::int64_t> capacity_bytes);

/// Ends a trial whose attempt reached its end: COMPLETE with its values, FAIL when one is NaN or their number is wrong.
/// The failure that makes it FAIL is returned.
[[nodiscard]] std::optional<Failure> settle_complete(Trial& trial, std::vector<double> values, std::size_t objectives);

/// Ends a trial that the pruner stopped: PRUNED, its value the last finite intermediate one, as Optuna has it.
void settle_pruned(Trial& trial, const std::string& reason);

/// Ends a trial whose last failure was answered with `fail` or `prune`. A memory failure that follows from the configuration
/// leaves its violation, so that samplers learn where memory ends. One that could have hit any trial (a neighbour, a leak,
/// fragmentation, the host) says nothing about the configuration: it is FAIL, which samplers pass over.
void settle_failed(Trial& trial, const Failure& failure, const Recovery& recovery, std::optional<std::int64_t> capacity_bytes);

/// A retry beyond the attempts that a trial may have, under a plan that the trainer would not obey, or with parameters that it would
/// refuse, becomes the trial's end.
void bound_retry(Recovery& recovery, const Attempt& attempt, const TuneOptions& options);

/// A finished trial that ran within its device is feasible: its constraint is peak / capacity - 1, at most 0.
void settle_feasible(Trial& trial, std::optional<std::int64_t> capacity_bytes);

/// Cuts text at `limit` bytes, between characters; what a trial says must not fill the store.
void clip(std::string& text, std::size_t limit);

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
[[nodiscard]] std::vector<DroppedAttribute> attach(Trial& trial, AttemptOutcome& outcome, const Store& store);

/// Finds the cause of a memory failure, from its figures and from what the attempt held when it began.
void explain(Attempt& attempt, std::optional<std::int64_t> capacity_bytes);

/// The user attributes that readers of the field's older tools look for.
void add_source_attributes(Trial& trial);

}  // namespace hpo::tuner

#ifndef HPO_COMPILED
#include "hpo/tuner/impl/verdicts_inl.hpp"
#endif
