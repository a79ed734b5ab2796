// SPDX-License-Identifier: MIT
#include "analysis/changes/compared_trials.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "hpo/failure/cause.hpp"

namespace hpo::analysis {

ComparedTrials::ComparedTrials(std::span<const Trial* const> ran, std::span<const FailureCase> cases, MemoryOrder& order) : order_{order} {
    const std::size_t most = std::max<std::size_t>(250, 5'000'000 / (cases.size() + 1));
    const auto spaced = [&](std::size_t size, auto&& visit) {
        for (std::size_t i = 0, count = std::min(size, most); i < count; ++i) visit(i * size / count);
    };
    rows_.reserve(std::min(ran.size(), most));
    spaced(ran.size(), [&](std::size_t i) { add(*ran[i]); });
    if (detail::peaks_are_of_the_host(cases)) {
        for (Row& row : rows_) row.peak_bytes.reset();
    }
    std::vector<const FailureCase*> too_large;
    for (const FailureCase& entry : cases) {
        const OomCause cause = entry.failure.cause.value_or(OomCause::unknown);
        if (!entry.is_oom()) continue;
        const auto capacity = capacity_of(entry);
        if (capacity) note(*capacity);
        if (follows_from_configuration(cause) && cause != OomCause::limit) too_large.push_back(&entry);
    }
    spaced(too_large.size(), [&](std::size_t i) { too_large_.push_back(point_of(*too_large[i])); });
    std::vector<std::pair<double, const Row*>> all;  // the coordinates of one axis
    for (std::size_t i = 0; i < order.axes().size(); ++i) {
        all.clear();
        for (const Row& row : rows_) {
            if (!std::isnan(row.point[i])) all.emplace_back(row.point[i], &row);
        }
        std::ranges::stable_sort(all, {}, &std::pair<double, const Row*>::first);
        const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
        values_.emplace_back(all.begin(), std::unique(all.begin(), all.end(), same));
    }
}

std::optional<std::int64_t> ComparedTrials::capacity_of(const FailureCase& entry) const {
    if (entry.attempt && entry.attempt->capacity_bytes) return entry.attempt->capacity_bytes;
    if (entry.failure.memory.capacity) return entry.failure.memory.capacity;
    if (entry.at_start && entry.at_start->capacity) return entry.at_start->capacity;
    return one_device() ? largest_ : std::nullopt;
}

bool ComparedTrials::may_have_had_more(const Row& row, const FailureCase& entry) const {
    if (one_device()) return false;
    const auto capacity = capacity_of(entry);
    return !row.capacity || !capacity || (*row.capacity > *capacity && !same_device(*row.capacity, *capacity));
}

bool ComparedTrials::contradicted(const Point& proposal, std::size_t changed) const {
    return std::ranges::any_of(too_large_, [&](const Point& failed) {
        for (std::size_t i = 0; i < proposal.size(); ++i) {
            const bool unknown = order_.axes()[i].kind == MemoryAxis::Kind::number && !order_.is_ordered(i) && i != changed;
            if (unknown && std::isnan(proposal[i]) == std::isnan(failed[i])) continue;
            if (!order_.at_least(i, proposal, failed)) return false;
        }
        return true;
    });
}

void ComparedTrials::add(const Trial& trial) {
    const Attempt* attempt = trial.attempts.empty() ? nullptr : &trial.attempts.back();
    const auto start = detail::start_of(trial, attempt);
    Row row{.trial = &trial, .params = attempt ? &params_of(trial, *attempt) : &trial.params, .plan = attempt ? &attempt->plan : nullptr};
    if (const auto peak = attempt ? peak_of(*attempt) : peak_of(trial); peak && *peak > 0)
        row.peak_bytes = static_cast<double>(*peak - (start ? start->allocated.value_or(0) : 0));
    row.capacity = attempt && attempt->capacity_bytes ? attempt->capacity_bytes : start ? start->capacity : std::nullopt;
    if (row.capacity) note(*row.capacity);
    // Another program's trial that was pruned before its first report may have caught an out-of-memory.
    if (!attempt && trial.state == TrialState::pruned && trial.intermediate.empty() && !row.peak_bytes) return;
    row.point = order_.point_of(*row.params, row.plan);
    rows_.push_back(std::move(row));
}

}  // namespace hpo::analysis
