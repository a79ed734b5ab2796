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

#include "hpo/analysis/demand_order.hpp"
#include "hpo/analysis/failure_case.hpp"

namespace hpo::analysis {

/// The trials that ran and those that did not fit, as points of a DemandOrder, so that failures can be held against them.
///
/// Complexity: each question looks at every row once. Of many failures and many trials, evenly spaced ones are kept, so that all
/// questions together look at about 5 million rows, but never at fewer than 250 for each.
class Witnesses {
public:
    using Point = DemandOrder::Point;
    struct Row {
        const Trial* trial = nullptr;
        const ParamSet* params = nullptr;
        const ExecutionPlan* plan = nullptr;   ///< that it ran under; none for a study that another program ran
        std::optional<double> peak_bytes;      ///< that it needed, where it was measured
        std::optional<std::int64_t> capacity;  ///< of its device
        Point point;
    };

    /// `ran` are trials that ran without running out of memory, or did so in their last attempt.
    Witnesses(std::span<const Trial* const> ran, std::span<const FailureCase> cases, DemandOrder& order);

    [[nodiscard]] const DemandOrder& order() const noexcept { return order_; }
    [[nodiscard]] std::span<const Row> rows() const noexcept { return rows_; }
    /// The coordinates on one axis that some row has, in order, each with one of these rows.
    [[nodiscard]] std::span<const std::pair<double, const Row*>> values(std::size_t axis) const { return values_[axis]; }

    [[nodiscard]] Point point_of(const FailureCase& entry) const {
        return order_.point_of(entry.params(), entry.attempt ? &entry.attempt->plan : nullptr);
    }

    /// The device that the failed attempt ran on; where no failure of the study tells, nothing.
    [[nodiscard]] std::optional<std::int64_t> capacity_of(const FailureCase& entry) const;
    /// Whether what the row needed may be more than the failed attempt's device has: then it shows nothing.
    [[nodiscard]] bool may_have_had_more(const Row& row, const FailureCase& entry) const;

    /// Whether some trial that did not fit needs no more than `proposal`, which differs from a failed one on `changed`. Axes without a
    /// direction speak against it there only.
    [[nodiscard]] bool contradicted(const Point& proposal, std::size_t changed) const;

private:
    /// Messages and readings of one device differ by what the driver keeps.
    [[nodiscard]] static bool same_device(std::int64_t a, std::int64_t b) {
        return std::fabs(static_cast<double>(a) - static_cast<double>(b)) <= 0.02 * static_cast<double>(std::max(a, b));
    }
    [[nodiscard]] bool one_device() const { return !largest_ || same_device(*smallest_, *largest_); }
    void note(std::int64_t capacity) {
        smallest_ = std::min(smallest_.value_or(capacity), capacity);
        largest_ = std::max(largest_.value_or(capacity), capacity);
    }

    void add(const Trial& trial);

    DemandOrder& order_;
    std::vector<Row> rows_;
    std::vector<Point> too_large_;
    std::vector<std::vector<std::pair<double, const Row*>>> values_;
    std::optional<std::int64_t> smallest_;  ///< device seen
    std::optional<std::int64_t> largest_;
};

}  // namespace hpo::analysis

#ifndef HPO_COMPILED
#include "hpo/analysis/impl/witnesses_inl.hpp"
#endif
