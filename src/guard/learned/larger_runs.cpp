// SPDX-License-Identifier: MIT
#include "hpo/guard/learned/larger_runs.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <ranges>
#include <utility>

#include "hpo/core/plan.hpp"

namespace hpo::guard {

namespace detail {

/// True if a step of `plan` holds no more than one of `other` would with the same micro-batch.
[[nodiscard]] bool takes_no_more(const ExecutionPlan& plan, const ExecutionPlan& other) {
    const bool accumulates = plan.accumulation_steps() > 1;  // gradients are there while activations are
    ExecutionPlan with_its_checkpointing = other;
    with_its_checkpointing.activation_checkpointing = plan.activation_checkpointing;
    return same_levers(plan, with_its_checkpointing) && (plan.activation_checkpointing || !other.activation_checkpointing) &&
           (!accumulates || other.accumulation_steps() > 1);
}

[[nodiscard]] bool contains(const LargerRuns::Inputs& all, const LargerRuns::Inputs& some) {
    for (std::size_t k = 0; k < all.size(); ++k) {
        if (some[k] && !all[k]) return false;
    }
    return true;
}

}  // namespace detail

LargerRuns::LargerRuns(std::vector<LawData::Kind> kinds, Inputs counts, std::vector<Run> runs)
    : kinds_{std::move(kinds)}, counts_{std::move(counts)} {
    const std::size_t stride = (runs.size() + most_compared - 1) / most_compared;
    std::vector<const Run*> compared;
    for (std::size_t i = 0; i < runs.size(); i += stride) compared.push_back(&runs[i]);
    for (const Run* run : compared) {
        for (const Run* other : compared) {
            if (other->censored || run->log_bytes <= other->log_bytes + clear_excess) continue;
            const auto smaller = smaller_in(*run, *other);
            const auto is_known = [&](const Inputs& known) { return detail::contains(*smaller, known); };
            if (!smaller || std::ranges::any_of(contradictions_, is_known)) continue;
            std::erase_if(contradictions_, [&](const Inputs& known) { return detail::contains(known, *smaller); });
            contradictions_.push_back(*smaller);
        }
    }
    for (Run& run : runs) (run.censored ? ran_out_ : measured_).push_back(std::move(run));
    std::ranges::stable_sort(measured_, {}, &Run::log_bytes);
}

std::vector<const LargerRuns::Run*> LargerRuns::larger_than(const Run& run) const {
    std::vector<const Run*> larger;
    for (const Run& other : measured_) {
        if (const auto smaller = smaller_in(run, other); smaller && !is_contradicted(*smaller, other)) larger.push_back(&other);
    }
    return larger;
}

bool LargerRuns::is_far_below_failed(const Run& run) const {
    const auto is_clearly_smaller = [&](const Run& other) {
        double ratio = 1;
        for (std::size_t k = 0; k < kinds_.size(); ++k) {
            const bool both_have_it = counts_[k] && kinds_[k] == LawData::Kind::amount && run.row[k] > 0 && other.row[k] > 0;
            if (both_have_it) ratio *= run.row[k] / other.row[k];
        }
        return ratio <= 0.5;
    };
    bool found = false;
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
        if (!counts_[k] || kinds_[k] != LawData::Kind::category) continue;
        const auto is_of_it = [&](const Run& other) { return other.row[k] == run.row[k]; };
        if (std::ranges::any_of(measured_, is_of_it) || std::ranges::none_of(ran_out_, is_of_it)) continue;
        found = true;
        if (!std::ranges::all_of(ran_out_ | std::views::filter(is_of_it), is_clearly_smaller)) return false;
    }
    return found;
}

std::optional<LargerRuns::Inputs> LargerRuns::smaller_in(const Run& run, const Run& other) const {
    if (!detail::takes_no_more(run.plan, other.plan)) return std::nullopt;
    Inputs smaller(kinds_.size());
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
        if (!counts_[k]) continue;
        const double value = run.row[k], others = other.row[k];
        if (std::isnan(value) || value == others) {
            smaller[k] = std::isnan(value) && !std::isnan(others);
        } else {
            if (kinds_[k] != LawData::Kind::amount || !(value < others)) return std::nullopt;
            smaller[k] = true;
        }
    }
    return smaller;
}

bool LargerRuns::is_contradicted(const Inputs& smaller, const Run& larger) const {
    if (std::ranges::any_of(contradictions_, [&](const Inputs& inputs) { return detail::contains(smaller, inputs); })) return true;
    return std::ranges::any_of(ran_out_, [&](const Run& run) {
        if (run.log_bytes <= larger.log_bytes) return false;
        const auto inputs = smaller_in(run, larger);
        return inputs && detail::contains(smaller, *inputs);
    });
}

}  // namespace hpo::guard
