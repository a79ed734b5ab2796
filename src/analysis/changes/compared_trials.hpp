// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "analysis/memory_need/memory_order.hpp"
#include "hpo/analysis/failure_cases/failure_case.hpp"

namespace hpo::analysis {

/// The trials that ran and those that did not fit, as points of a MemoryOrder. Failures are compared with them.
///
/// Complexity: each query looks at every row once. If there are many failures and trials, evenly spaced trials are kept. All queries
/// together then look at about 5 million rows, but each at no fewer than 250.
class ComparedTrials {
public:
    using Point = MemoryOrder::Point;
    struct Row {
        const Trial* trial = nullptr;
        const ParamSet* params = nullptr;
        const ExecutionPlan* plan = nullptr;   ///< the plan of its run; null for a study that another program ran
        std::optional<double> peak_bytes;      ///< the measured need, if there is one
        std::optional<std::int64_t> capacity;  ///< capacity of its device
        Point point;
    };

    /// Messages and readings of the same device differ by the driver's share.
    [[nodiscard]] static bool same_device(std::int64_t a, std::int64_t b) {
        return std::fabs(static_cast<double>(a) - static_cast<double>(b)) <= 0.02 * static_cast<double>(std::max(a, b));
    }

    /// `ran` are trials that ran without running out of memory, at least in their last attempt.
    ComparedTrials(std::span<const Trial* const> ran, std::span<const FailureCase> cases, MemoryOrder& order);

    [[nodiscard]] const MemoryOrder& order() const noexcept { return order_; }
    [[nodiscard]] std::span<const Row> rows() const noexcept { return rows_; }
    /// The coordinates of the rows on one axis, in order, each with one row that has it.
    [[nodiscard]] std::span<const std::pair<double, const Row*>> values(std::size_t axis) const { return values_[axis]; }

    [[nodiscard]] Point point_of(const FailureCase& entry) const {
        return order_.point_of(entry.params(), entry.attempt ? &entry.attempt->plan : nullptr);
    }

    /// The capacity of the failed attempt's device. Returns nullopt if neither the attempt nor the study shows it.
    [[nodiscard]] std::optional<std::int64_t> capacity_of(const FailureCase& entry) const;
    /// Whether the row's device may have been larger than the failed attempt's. The row then proves nothing.
    [[nodiscard]] bool may_have_had_more(const Row& row, const FailureCase& entry) const;

    /// Whether a trial that did not fit needs no more than `proposal`, which differs from a failed attempt on `changed`. An axis without a
    /// direction counts only if it is `changed`.
    [[nodiscard]] bool contradicted(const Point& proposal, std::size_t changed) const;

private:
    [[nodiscard]] bool one_device() const { return !largest_ || same_device(*smallest_, *largest_); }
    void note(std::int64_t capacity) {
        smallest_ = std::min(smallest_.value_or(capacity), capacity);
        largest_ = std::max(largest_.value_or(capacity), capacity);
    }

    void add(const Trial& trial);

    MemoryOrder& order_;
    std::vector<Row> rows_;
    std::vector<Point> too_large_;
    std::vector<std::vector<std::pair<double, const Row*>>> values_;
    std::optional<std::int64_t> smallest_;  ///< smallest device seen
    std::optional<std::int64_t> largest_;
};

}  // namespace hpo::analysis
