// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analysis/changes/compared_trials.hpp"
#include "analysis/memory_need/memory_model.hpp"
#include "hpo/analysis/changes/change.hpp"

namespace hpo::analysis::detail {

/// A change with its size. Halving a number has size 1. A switch has less, and another choice more.
struct SizedChange {
    Change change;
    double size = 0;
};

/// A change of one coordinate of a failed attempt to that of a trial that ran.
struct Move {
    std::size_t axis = 0;
    double to = 0;  ///< the new coordinate
    double size = 0;
    const ComparedTrials::Row* row = nullptr;
};

/// Searches for a change with which one failed attempt would have fitted.
class ChangeSearch {
public:
    ChangeSearch(const FailureCase& entry, const ComparedTrials& compared, const MemoryModel& model);

    /// The nearest change to a value of a trial that ran and needed at least as much in everything else.
    [[nodiscard]] std::optional<SizedChange> by_trial() const;

    /// The nearest change that measured peaks allow. Two conditions must hold. First, a measured trial still fits after scaling. Memory
    /// grows with each number by at most its square, or faster if the peaks say so. Second, it fits by the model of all peaks, with two
    /// standard deviations to spare. Both leave 7 % of the device for what no allocator counts. A number of unknown direction must be
    /// equal, unless enough peaks show that the difference changes memory by a tenth at most.
    [[nodiscard]] std::optional<SizedChange> by_peaks();

private:
    [[nodiscard]] const MemoryOrder& order() const { return compared_.order(); }
    [[nodiscard]] std::size_t micro() const { return order().plan_begin(); }
    [[nodiscard]] bool takes_whole_batch() const { return batch_ && micro() < point_.size() && point_[*batch_] == point_[micro()]; }

    /// The only axis on which the row may need less than the failed attempt. Returns nullopt if there is not exactly one. If the batch is
    /// taken at once, it counts as one axis with its micro-batch.
    [[nodiscard]] std::optional<std::size_t> only_easier_axis(const ComparedTrials::Row& row) const;

    /// Whether a trial ran that has no less of anything, and does not lie on the side to which the move goes. Then the number is not the
    /// reason, unless its name says that memory depends on it.
    [[nodiscard]] bool ran_beyond(const Move& move) const;

    /// The failed attempt's point after the move.
    [[nodiscard]] ComparedTrials::Point moved(const Move& move) const;

    void keep(std::vector<Move>& moves, Move move) const;

    [[nodiscard]] double size_of(const Move& move) const;

    /// Adds for each axis the smallest change with which the row's scaled peak stays within `spare` (a logarithm) of the limit.
    void add_scaled(std::vector<Move>& moves, const ComparedTrials::Row& row, double spare);

    [[nodiscard]] bool model_agrees(const Move& move, double limit) const;

    [[nodiscard]] std::string text(const Move& move) const;

    /// The change that the move is, with its size.
    [[nodiscard]] SizedChange change_of(const Move& move, std::string what, Change::Basis basis) const;

    const FailureCase& entry_;
    const ComparedTrials& compared_;
    const MemoryModel& model_;
    ComparedTrials::Point point_;
    std::vector<double> growth_;        ///< scratch of add_scaled
    std::optional<std::size_t> batch_;  ///< the axis of the parameter that is the plan's effective batch
};

}  // namespace hpo::analysis::detail
