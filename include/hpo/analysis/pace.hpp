// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "hpo/core/time.hpp"
#include "hpo/core/trial.hpp"

namespace hpo::analysis {

/// How long the complete trials of a study take, and how far their reports go: what a trial that ended otherwise is held against.
struct Pace {
    std::size_t trials = 0;  ///< complete ones whose time is known
    double least_seconds = 0;
    double low_seconds = 0;  ///< the twentieth part is shorter
    double most_seconds = 0;
    std::optional<std::int64_t> last_step;    ///< that the median complete trial reported
    std::optional<std::int64_t> first_ended;  ///< the number of the complete trial that ended first
    std::optional<Time> first_end;
};

[[nodiscard]] Pace pace_of(std::span<const Trial> trials);

}  // namespace hpo::analysis

#ifndef HPO_COMPILED
#include "hpo/analysis/impl/pace_inl.hpp"
#endif
