// SPDX-License-Identifier: MIT
#pragma once

#include <set>
#include <span>
#include <vector>

#include "hpo/core/study.hpp"
#include "hpo/core/trial.hpp"

namespace hpo::analysis {

/// Complete trials whose value is perhaps no result. A program that catches an error often returns such a value.
struct SuspiciousValues {
    std::vector<const Trial*> infinite;  ///< an objective is infinite or NaN
    /// They share one value, the worst of the study, and ended far sooner than the others. Empty if there are fewer than three.
    std::vector<const Trial*> penalised;
    double usual_seconds = 0;  ///< the median time of the other complete trials, if there are penalised ones

    [[nodiscard]] bool empty() const { return infinite.empty() && penalised.empty(); }
    /// True for a trial that is among them.
    [[nodiscard]] bool contains(const Trial& trial) const;
};

/// `explained` are trials whose failure is known. They are not among the result. Without directions, no value is the worst.
[[nodiscard]] SuspiciousValues suspicious_values(std::span<const Trial> trials, std::span<const Direction> directions,
                                                 const std::set<const Trial*>& explained);

}  // namespace hpo::analysis
