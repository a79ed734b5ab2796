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

#include "hpo/analysis/demand_model.hpp"
#include "hpo/analysis/device_share.hpp"
#include "hpo/analysis/failure_case.hpp"
#include "hpo/analysis/history_cause.hpp"
#include "hpo/analysis/witnesses.hpp"
#include "hpo/core/plan_fields.hpp"
#include "hpo/failure/source_attributes.hpp"

namespace hpo::analysis {

/// The smallest single change under which a failed attempt would have fitted.
struct Change {
    enum class Basis {
        attempt,  ///< a later attempt of the same trial did fit
        trial,    ///< another trial that needs at least as much did fit
        peaks,    ///< the peaks of the other trials say so; nobody has tried it
        figures,  ///< follows from the failure's own figures; nobody has tried it
    } basis = Basis::figures;
    std::string what;                     ///< "micro-batch 16 instead of 64"
    std::optional<std::int64_t> bytes;    ///< how much of it at least, for memory to wait for and caps to raise
    std::optional<std::int64_t> witness;  ///< the trial that shows it, for Basis::trial
    std::optional<LargerShare> share{};   ///< that a later attempt had

    [[nodiscard]] std::string text() const {
        if (share) return what + " (" + share->text() + ")";
        return bytes ? what + " (at least " + format_bytes(*bytes) + ")" : what;
    }
};

[[nodiscard]] constexpr std::string_view to_text(Change::Basis basis) {
    switch (basis) {
        case Change::Basis::attempt: return "attempt";
        case Change::Basis::trial: return "trial";
        case Change::Basis::peaks: return "peaks";
        case Change::Basis::figures: return "figures";
    }
    return "figures";
}

namespace detail {

/// How the second plan differs from the first, in words; empty when it does not.
[[nodiscard]] inline std::string plan_difference(const ExecutionPlan& failed, const ExecutionPlan& fitted) {
    std::string text;
    const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
    const auto from = failed.effective_micro_batch();
    const auto to = fitted.effective_micro_batch();
    if (to && from && *to != *from) add("micro-batch " + std::to_string(*to) + " instead of " + std::to_string(*from));
    each_plan_field([&](const auto& field) {
        if (field.unit == PlanUnit::examples || fitted.*field.member == failed.*field.member) return;
        if (const std::string words = plan_words(field, fitted.*field.member); !words.empty()) add(words);
    });
    return text;
}

[[nodiscard]] inline std::string change_text(const std::string& param, const Value& from, const Value& to) {
    return param + " " + display_text(to) + " instead of " + display_text(from);
}

/// How an attempt's parameters differ from an earlier one's, in words; empty when they do not.
[[nodiscard]] inline std::string params_difference(const ParamSet& failed, const ParamSet& fitted) {
    std::string text;
    for (const Param& param : fitted) {
        const Param* before = failed.find(param.name);
        if (before && before->value() == param.value()) continue;
        text += (text.empty() ? "" : ", ") +
                (before ? change_text(param.name, before->value(), param.value()) : param.name + " " + display_text(param.value()));
    }
    return text;
}

[[nodiscard]] inline std::optional<Change> change_by_attempt(const FailureCase& entry) {
    if (!entry.attempt) return std::nullopt;
    for (const Attempt& later : entry.trial->attempts) {
        if (later.index <= entry.attempt->index || later.failure || !later.outcome || *later.outcome == OutcomeKind::interrupted) continue;
        std::string what = plan_difference(entry.attempt->plan, later.plan);
        const std::string params = params_difference(params_of(*entry.trial, *entry.attempt), params_of(*entry.trial, later));
        what += (what.empty() || params.empty() ? "" : ", ") + params;
        const auto share = larger_share(entry, later);
        if (share) what = "a larger share of the device";
        if (what.empty()) what = later.worker_pid != entry.attempt->worker_pid ? "another worker process" : "the same again";
        return Change{.basis = Change::Basis::attempt, .what = std::move(what), .bytes = {}, .witness = {}, .share = share};
    }
    return std::nullopt;
}

/// A change with its size: 1 is halving; a switch costs less, another choice more.
struct SizedChange {
    Change change;
    double size = 0;
};

[[nodiscard]] inline double change_size(const DemandAxis& axis, const Value& from, const Value& to) {
    const auto number = [](const Value& value) {
        if (const auto* real = get_if<double>(&value)) return *real;
        if (const auto* whole = get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
        return 0.0;
    };
    if (axis.direction == 0) return holds<bool>(to) ? 0.6 : 4.0;
    const double a = number(from);
    const double b = number(to);
    return a != 0 && b != 0 && (a > 0) == (b > 0) ? std::fabs(std::log2(a / b)) : 2.0;
}

/// The nearest of the trials that ran, that differ on one axis only to the easier side and are at least as demanding on all others.
[[nodiscard]] inline std::optional<SizedChange> change_by_trial(const FailureCase& entry, Witnesses& witnesses) {
    std::optional<SizedChange> best;
    const auto own_micro = entry.attempt ? entry.attempt->plan.effective_micro_batch() : std::nullopt;
    const Witnesses::Point point = witnesses.point_of(entry.params());
    for (const Witnesses::Row& row : witnesses.rows()) {
        const std::size_t index = witnesses.only_easier_axis(row, point);
        if (index == witnesses.axes().size()) continue;
        if (own_micro && !row.trial->attempts.empty()) {  // a trial that was run in smaller pieces shows nothing about this one
            const ExecutionPlan& plan = row.trial->attempts.back().plan;
            const auto micro = plan.effective_micro_batch();
            if (micro && *micro < *own_micro && micro != plan.effective_batch) continue;
        }
        const DemandAxis& axis = witnesses.axes()[index];
        const Value from = *entry.params().value(axis.param);
        const Value to = *row.trial->params.value(axis.param);
        const double size = change_size(axis, from, to);
        if (best && size >= best->size) continue;
        best = SizedChange{
            .change = {.basis = Change::Basis::trial, .what = change_text(axis.param, from, to), .bytes = {}, .witness = row.trial->number},
            .size = size};
    }
    return best;
}

/// The nearest value of one axis, among those that ran, at which the peaks of the other trials promise a fit with two standard
/// deviations to spare and 7 % of the device left for what no allocator counts.
[[nodiscard]] inline std::optional<SizedChange> change_by_peaks(const FailureCase& entry, const Witnesses& witnesses,
                                                                const DemandModel& model) {
    std::optional<SizedChange> best;
    auto capacity = entry.failure.memory.capacity;
    if (!capacity && entry.at_start) capacity = entry.at_start->capacity;
    if (!capacity || (entry.attempt && entry.attempt->plan.micro_batch)) return best;
    for (std::size_t i = 0; i < witnesses.axes().size(); ++i) {
        const DemandAxis& axis = witnesses.axes()[i];
        const Param* param = entry.params().find(axis.param);
        if (!param) continue;
        for (const Param* other : witnesses.values(i)) {
            if (other->internal == param->internal || !compatible(*other->distribution, *param->distribution)) continue;
            if (!contains(*param->distribution, other->internal)) continue;
            ParamSet changed = entry.params();
            changed.set(Param{.name = param->name, .distribution = param->distribution, .internal = other->internal});
            const Value to = *changed.value(axis.param);
            const double size = change_size(axis, param->value(), to);
            if (best && size >= best->size) continue;
            const auto need = model.bytes(changed, 2);
            if (!need || *need > 0.93 * static_cast<double>(*capacity)) continue;
            best = SizedChange{
                .change = {.basis = Change::Basis::peaks, .what = change_text(param->name, param->value(), to), .bytes = {}, .witness = {}},
                .size = size};
        }
    }
    return best;
}

[[nodiscard]] inline std::optional<Change> change_by_figures(const FailureCase& entry) {
    const Failure& failure = entry.failure;
    const MemoryReading& memory = failure.memory;
    const auto change = [](std::string what, std::optional<std::int64_t> bytes = {}) {
        return Change{.basis = Change::Basis::figures, .what = std::move(what), .bytes = bytes, .witness = {}};
    };
    std::optional<std::int64_t> needed;
    if (failure.requested_bytes && memory.reserved) needed = *failure.requested_bytes + *memory.reserved;
    switch (failure.cause.value_or(OomCause::unknown)) {
        case OomCause::fragmentation: return change("expandable segments (LibTorch 2.1 or later), or a fresh worker process");
        case OomCause::leak: return change("a fresh worker process before the trial");
        case OomCause::host: return change("fewer data loader workers, or less data held in host memory");
        case OomCause::neighbour: return change("waiting until enough of the device is free", needed);
        case OomCause::limit: return change("a higher cap", needed);
        case OomCause::unknown:
        case OomCause::workspace:
        case OomCause::capacity: break;
    }
    std::int64_t micro = entry.attempt ? entry.attempt->plan.effective_micro_batch().value_or(0) : 0;
    if (micro == 0) {
        const Param* batch = hpo::detail::param_named(entry.params(), {"batch_size", "batch", "per_device_train_batch_size"});
        micro = batch ? static_cast<std::int64_t>(entry.params().number(batch->name).value_or(0)) : 0;
    }
    if (weights_do_not_fit(failure)) return std::nullopt;
    const std::int64_t own = micro;
    for (const Attempt& later : entry.trial->attempts) {  // what failed, too, is no cure
        const bool failed = entry.attempt && later.index > entry.attempt->index && later.failure && is_memory(later.failure->kind);
        if (failed) micro = std::min(micro, later.plan.effective_micro_batch().value_or(micro));
        if (failed && weights_do_not_fit(*later.failure)) return std::nullopt;
    }
    if (micro < 2) return std::nullopt;
    std::int64_t smaller = (micro + 1) / 2;
    if (failure.requested_bytes && memory.capacity) {
        while (smaller > 1 && *failure.requested_bytes / micro * smaller > *memory.capacity * 9 / 10) smaller = (smaller + 1) / 2;
    }
    return change("micro-batch " + std::to_string(smaller) + " instead of " + std::to_string(own) +
                  ", accumulated to the same effective batch");
}

}  // namespace detail

/// The smallest single change that would have fitted: shown by a later attempt of the trial, else by another trial (a much smaller
/// change that the peaks of all trials promise is preferred), else derived from the figures, for causes outside the configuration always
/// so; nothing when there is none to name.
[[nodiscard]] inline std::optional<Change> smallest_change(const FailureCase& entry, Witnesses& witnesses, const DemandModel& model) {
    if (!entry.is_oom()) return std::nullopt;
    if (auto change = detail::change_by_attempt(entry)) return change;
    const OomCause cause = entry.failure.cause.value_or(OomCause::unknown);
    if (follows_from_configuration(cause) && cause != OomCause::limit) {  // a witness may have run under another cap
        const auto shown = detail::change_by_trial(entry, witnesses);
        const auto promised = detail::change_by_peaks(entry, witnesses, model);
        if (shown && (!promised || shown->size <= std::max(1.01, 1.5 * promised->size))) return shown->change;
        if (promised) return promised->change;
    }
    return detail::change_by_figures(entry);
}

}  // namespace hpo::analysis
