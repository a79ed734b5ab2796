// SPDX-License-Identifier: MIT
#include "analysis/changes/smallest_change.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "analysis/changes/change_search.hpp"
#include "hpo/analysis/failure_cases/device_share.hpp"
#include "hpo/failure/cause.hpp"

namespace hpo::analysis::detail {

/// How an attempt's parameters differ from an earlier attempt's, in words. Empty if they are equal.
[[nodiscard]] std::string params_difference(const ParamSet& failed, const ParamSet& fitted) {
    std::string text;
    for (const Param& param : fitted) {
        const Param* before = failed.find(param.name);
        if (before && before->value() == param.value()) continue;
        text += (text.empty() ? "" : ", ") +
                (before ? change_text(param.name, before->value(), param.value()) : param.name + " " + display_text(param.value()));
    }
    return text;
}

[[nodiscard]] std::optional<Change> change_by_attempt(const FailureCase& entry) {
    if (!entry.attempt) return std::nullopt;
    for (const Attempt& later : entry.trial->attempts) {
        if (later.index <= entry.attempt->index || later.failure || !later.outcome || *later.outcome == OutcomeKind::interrupted) continue;
        std::string what = plan_difference(entry.attempt->plan, later.plan);
        const std::string params = params_difference(params_of(*entry.trial, *entry.attempt), params_of(*entry.trial, later));
        what += (what.empty() || params.empty() ? "" : ", ") + params;
        const auto share = larger_share(entry, later);
        if (share) what = "a larger share of the device";
        if (what.empty()) what = later.worker_pid != entry.attempt->worker_pid ? "another worker process" : "the same again";
        Change change{.basis = Change::Basis::attempt, .what = std::move(what), .bytes = {}, .witness = {}, .share = share};
        ExecutionPlan only_micro = entry.attempt->plan;
        only_micro.micro_batch = later.plan.micro_batch;
        if (const auto micro = later.plan.effective_micro_batch();
            micro && change.what == plan_difference(entry.attempt->plan, only_micro)) {
            change.param = "micro-batch";
            change.at_most = static_cast<double>(*micro);
        }
        return change;
    }
    return std::nullopt;
}

[[nodiscard]] std::optional<Change> change_by_figures(const FailureCase& entry) {
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
        case OomCause::neighbour:
            if (needed && memory.capacity && *needed > *memory.capacity) return std::nullopt;  // no device of this size ever has it
            return change("waiting until enough of the device is free", needed);
        case OomCause::limit: return change("a higher cap", needed);
        case OomCause::unknown:
        case OomCause::workspace:
        case OomCause::capacity: break;  // the figures show what was missing at that moment, not what would have been enough
    }
    return std::nullopt;
}

}  // namespace hpo::analysis::detail

namespace hpo::analysis {

std::optional<Change> smallest_change(const FailureCase& entry, const ComparedTrials& compared, const MemoryModel& model) {
    if (!entry.is_oom()) return std::nullopt;
    if (auto change = detail::change_by_attempt(entry)) return change;
    if (!entry.size_decides) return std::nullopt;
    const OomCause cause = entry.failure.cause.value_or(OomCause::unknown);
    if (!follows_from_configuration(cause) || cause == OomCause::limit) return detail::change_by_figures(entry);
    detail::ChangeSearch search{entry, compared, model};
    const auto shown = search.by_trial();
    if (shown && shown->size <= 1.01) return shown->change;
    const auto measured = search.by_peaks();
    if (shown && (!measured || shown->size <= 1.5 * measured->size)) return shown->change;
    return measured ? std::optional{measured->change} : std::nullopt;
}

}  // namespace hpo::analysis
