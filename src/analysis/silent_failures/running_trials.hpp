// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hpo/core/trial.hpp"

namespace hpo::analysis {

/// Finds the trial that was the only one to run at some time. A query takes as many comparisons as a binary search.
class RunningTrials {
public:
    /// `counts` selects the trials to look at.
    template <class Counts>
    RunningTrials(std::span<const Trial> trials, Counts&& counts) {
        for (const Trial& trial : trials) {
            if (!trial.started || trial.state == TrialState::waiting || !counts(trial)) continue;
            const std::int64_t end = trial.completed ? microseconds_since_epoch(*trial.completed) : INT64_MAX;
            rows_.push_back({.start = microseconds_since_epoch(*trial.started), .latest = &trial, .latest_end = end});
        }
        std::ranges::stable_sort(rows_, {}, &Row::start);
        for (std::size_t i = 1; i < rows_.size(); ++i) {
            const Row& before = rows_[i - 1];
            Row& own = rows_[i];
            if (own.latest_end >= before.latest_end) {
                own.second_end = before.latest_end;
                continue;
            }
            own.second_end = std::max(own.latest_end, before.second_end);
            own.latest = before.latest;
            own.latest_end = before.latest_end;
        }
    }

    /// The only trial that began at `to` or before and ended after `from`. null if there is none, or more than one.
    [[nodiscard]] const Trial* only_one(std::int64_t from, std::int64_t to) const {
        const auto later = std::ranges::upper_bound(rows_, to, {}, [this](const Row& row) {
            ++compared_;
            return row.start;
        });
        if (later == rows_.begin()) return nullptr;
        const Row& row = *(later - 1);
        return row.latest_end > from && row.second_end <= from ? row.latest : nullptr;
    }

    /// How many start times were compared so far.
    [[nodiscard]] std::size_t compared() const noexcept { return compared_; }

private:
    /// Sorted by start. Of the trials up to this one: the one that ended last, and the time when all others had ended.
    struct Row {
        std::int64_t start = 0;
        const Trial* latest = nullptr;
        std::int64_t latest_end = INT64_MIN;
        std::int64_t second_end = INT64_MIN;
    };
    std::vector<Row> rows_;
    mutable std::size_t compared_ = 0;
};

}  // namespace hpo::analysis
