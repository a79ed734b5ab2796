// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/analysis/demand.hpp"
#include "hpo/analysis/failure_case.hpp"
#include "hpo/analysis/history_cause.hpp"
#include "hpo/failure/source_attributes.hpp"

namespace hpo::analysis {

/// The smallest single change under which a failed attempt would have fitted.
struct Change {
    enum class Basis {
        attempt,  ///< a later attempt of the same trial did fit
        trial,    ///< another trial that needs at least as much did fit
        figures,  ///< follows from the figures; nobody has tried it
    } basis = Basis::figures;
    std::string what;                     ///< "micro-batch 16 instead of 64"
    std::optional<std::int64_t> witness;  ///< the trial that shows it, for Basis::trial
};

[[nodiscard]] constexpr std::string_view to_text(Change::Basis basis) {
    return basis == Change::Basis::attempt ? "attempt" : basis == Change::Basis::trial ? "trial" : "figures";
}

namespace detail {

/// How the second plan differs from the first, in words; empty when it does not.
[[nodiscard]] inline std::string plan_difference(const ExecutionPlan& failed, const ExecutionPlan& fitted) {
    std::string text;
    const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
    const auto from = failed.effective_micro_batch();
    const auto to = fitted.effective_micro_batch();
    if (to && from && *to != *from) add("micro-batch " + std::to_string(*to) + " instead of " + std::to_string(*from));
    if (fitted.activation_checkpointing && !failed.activation_checkpointing) add("activation checkpointing");
    if (fitted.precision != failed.precision) add("precision " + std::string{hpo::to_text(fitted.precision)});
    if (fitted.expandable_segments && !failed.expandable_segments) add("expandable segments");
    if (fitted.device != failed.device) add("device " + fitted.device);
    if (fitted.cap_bytes != failed.cap_bytes && fitted.cap_bytes) add("a cap of " + format_bytes(*fitted.cap_bytes));
    return text;
}

[[nodiscard]] inline std::optional<Change> change_by_attempt(const FailureCase& entry) {
    if (!entry.attempt) return std::nullopt;
    for (const Attempt& later : entry.trial->attempts) {
        if (later.index <= entry.attempt->index || later.failure || !later.outcome || *later.outcome == OutcomeKind::interrupted) continue;
        std::string what = plan_difference(entry.attempt->plan, later.plan);
        if (later.changed_params) what += (what.empty() ? "" : ", ") + std::string{"changed parameters"};
        if (what.empty()) what = later.worker_pid != entry.attempt->worker_pid ? "another worker process" : "the same again";
        return Change{.basis = Change::Basis::attempt, .what = std::move(what), .witness = {}};
    }
    return std::nullopt;
}

/// The best of the trials that ran, that differ on one axis only to the easier side and are at least as demanding on all others.
[[nodiscard]] inline std::optional<Change> change_by_trial(const FailureCase& entry, std::span<const Trial* const> fitted,
                                                           std::span<const DemandAxis> axes) {
    std::optional<Change> best;
    double best_size = HUGE_VAL;
    const auto micro_batch = [](const Trial& trial) {
        return trial.attempts.empty() ? std::nullopt : trial.attempts.back().plan.effective_micro_batch();
    };
    const auto own_micro = entry.attempt ? entry.attempt->plan.effective_micro_batch() : std::nullopt;
    for (const Trial* other : fitted) {
        const DemandAxis* changed = nullptr;
        bool comparable = !axes.empty();
        for (const DemandAxis& axis : axes) {
            const int order = compare_demand(axis, other->params, entry.params());
            if (order == 0 || order == 1) continue;
            comparable = comparable && !changed && other->params.find(axis.param) && entry.params().find(axis.param);
            changed = &axis;
        }
        if (!comparable || !changed) continue;
        if (const auto micro = micro_batch(*other);
            own_micro && micro && *micro < *own_micro && *micro != other->attempts.back().plan.effective_batch)
            continue;
        const Value from = *entry.params().value(changed->param);
        const Value to = *other->params.value(changed->param);
        double size = std::holds_alternative<bool>(to) ? 0.6 : 4.0;  // a switch costs less than halving; another choice more
        if (changed->direction != 0) {
            const double a = *entry.params().number(changed->param);
            const double b = *other->params.number(changed->param);
            size = a != 0 && b != 0 && (a > 0) == (b > 0) ? std::fabs(std::log2(a / b)) : 2.0;
        }
        if (size >= best_size) continue;
        best_size = size;
        best = Change{.basis = Change::Basis::trial,
                      .what = changed->param + " " + display_text(to) + " instead of " + display_text(from),
                      .witness = other->number};
    }
    return best;
}

[[nodiscard]] inline std::optional<Change> change_by_figures(const FailureCase& entry) {
    const Failure& failure = entry.failure;
    const MemoryReading& memory = failure.memory;
    const auto change = [](std::string what) { return Change{.basis = Change::Basis::figures, .what = std::move(what), .witness = {}}; };
    switch (failure.cause.value_or(OomCause::unknown)) {
        case OomCause::fragmentation: return change("expandable segments (LibTorch 2.1 or later), or a fresh worker process");
        case OomCause::leak: return change("a fresh worker process before the trial");
        case OomCause::host: return change("fewer data loader workers, or less data held in host memory");
        case OomCause::neighbour:
            if (!failure.requested_bytes) return change("waiting until the other processes have gone");
            return change("waiting until " + format_bytes(*failure.requested_bytes + memory.reserved.value_or(0)) +
                          " of the device are free for it");
        case OomCause::limit:
            if (!failure.requested_bytes || !memory.reserved) return change("a higher cap");
            return change("a cap of at least " + format_bytes(*failure.requested_bytes + *memory.reserved));
        case OomCause::unknown:
        case OomCause::workspace:
        case OomCause::capacity: break;
    }
    std::optional<std::int64_t> micro = entry.attempt ? entry.attempt->plan.effective_micro_batch() : std::nullopt;
    if (!micro) {
        const Param* batch = hpo::detail::param_named(entry.params(), {"batch_size", "batch", "per_device_train_batch_size"});
        if (const auto number = batch ? entry.params().number(batch->name) : std::nullopt) micro = static_cast<std::int64_t>(*number);
    }
    if (!micro || *micro < 2) return std::nullopt;
    std::int64_t smaller = (*micro + 1) / 2;
    if (failure.requested_bytes && memory.capacity) {
        while (smaller > 1 && *failure.requested_bytes / *micro * smaller > *memory.capacity * 9 / 10) smaller = (smaller + 1) / 2;
    }
    return change("micro-batch " + std::to_string(smaller) + " instead of " + std::to_string(*micro) +
                  ", accumulated to the same effective batch");
}

}  // namespace detail

/// The smallest single change that would have fitted: shown by a later attempt of the trial, else by another trial, else derived from
/// the figures (for causes outside the configuration always so); nothing when there is none to name.
[[nodiscard]] inline std::optional<Change> smallest_change(const FailureCase& entry, std::span<const Trial* const> fitted,
                                                           std::span<const DemandAxis> axes) {
    if (!entry.is_oom()) return std::nullopt;
    if (auto change = detail::change_by_attempt(entry)) return change;
    const OomCause cause = entry.failure.cause.value_or(OomCause::unknown);
    if (follows_from_configuration(cause) && cause != OomCause::limit) {  // a witness may have run under another cap
        if (auto change = detail::change_by_trial(entry, fitted, axes)) return change;
    }
    return detail::change_by_figures(entry);
}

}  // namespace hpo::analysis
