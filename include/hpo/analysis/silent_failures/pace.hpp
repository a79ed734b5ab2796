// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>

#include "hpo/base/time.hpp"
#include "hpo/core/trial.hpp"

namespace hpo::analysis {

/// How long the complete trials of a study take, and how far their reports go. Trials that ended otherwise are compared with it.
struct Pace {
    std::size_t trials = 0;  ///< complete trials whose time is known
    double least_seconds = 0;
    double low_seconds = 0;  ///< a twentieth of them took less
    double most_seconds = 0;
    std::optional<std::int64_t> last_step;    ///< the last step of the median complete trial
    std::optional<std::int64_t> first_ended;  ///< the number of the complete trial that ended first
    std::optional<Time> first_end;
};

/// Trials whose value is perhaps no result say nothing of how long a trial takes. So do those that met an error, `without`.
[[nodiscard]] Pace pace_of(std::span<const Trial> trials, const std::set<const Trial*>& without = {});

}  // namespace hpo::analysis
