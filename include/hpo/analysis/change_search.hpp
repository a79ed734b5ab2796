// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "hpo/analysis/change.hpp"
#include "hpo/analysis/demand_model.hpp"
#include "hpo/analysis/witnesses.hpp"

namespace hpo::analysis::detail {

/// A change with its size: 1 is halving; a switch costs less, another choice more.
struct SizedChange {
    Change change;
    double size = 0;
};

/// One axis of a failed attempt, moved to where a trial ran.
struct Move {
    std::size_t axis = 0;
    double to = 0;  ///< the coordinate
    double size = 0;
    const Witnesses::Row* row = nullptr;
};

/// The questions about one failed attempt.
class ChangeSearch {
public:
    ChangeSearch(const FailureCase& entry, const Witnesses& witnesses, const DemandModel& model);

    /// The nearest change to what a trial ran with that needed at least as much in everything else.
    [[nodiscard]] std::optional<SizedChange> by_trial() const;

    /// The nearest change that measured peaks allow. It takes two grounds. First, a measured trial fits when it is scaled up: memory grows
    /// with each number by no more than its square, or faster where the peaks say so. Second, it fits by the model of all peaks, with two
    /// standard deviations to spare. Both leave 7 % of the device for what no allocator counts. A number of unknown direction is the same,
    /// or enough peaks show that the difference matters by a tenth at most.
    [[nodiscard]] std::optional<SizedChange> by_peaks();

private:
    [[nodiscard]] const DemandOrder& order() const { return witnesses_.order(); }
    [[nodiscard]] std::size_t micro() const { return order().plan_begin(); }
    [[nodiscard]] bool takes_whole_batch() const { return batch_ && micro() < point_.size() && point_[*batch_] == point_[micro()]; }

    /// The one axis on which the row is easier, given that it needs at least as much on all others; nothing when there is not exactly one.
    /// A batch that is taken at once counts as one axis with its micro-batch.
    [[nodiscard]] std::optional<std::size_t> only_easier_axis(const Witnesses::Row& row) const;

    /// The failed attempt's place after the move.
    [[nodiscard]] Witnesses::Point moved(const Move& move) const;

    void keep(std::vector<Move>& moves, Move move) const;

    [[nodiscard]] double size_of(const Move& move) const;

    /// For each axis the least change after which the row's peak, scaled up, is within `spare` (a logarithm) of the limit.
    void add_scaled(std::vector<Move>& moves, const Witnesses::Row& row, double spare);

    [[nodiscard]] bool model_agrees(const Move& move, double limit) const;

    [[nodiscard]] std::string text(const Move& move) const;

    const FailureCase& entry_;
    const Witnesses& witnesses_;
    const DemandModel& model_;
    Witnesses::Point point_;
    std::vector<double> growth_;        ///< for add_scaled
    std::optional<std::size_t> batch_;  ///< the axis of the parameter that the plan has as its effective batch
};

}  // namespace hpo::analysis::detail

#ifndef HPO_COMPILED
#include "hpo/analysis/impl/change_search_inl.hpp"
#endif
