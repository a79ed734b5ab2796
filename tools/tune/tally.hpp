// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>

#include "hpo/core/trial.hpp"

namespace hpo::tune {

/// A study's finished trials by how they ended.
struct Tally {
    std::int64_t complete = 0, pruned = 0, infeasible = 0, failed = 0;
    std::int64_t oom_attempts = 0;  ///< attempts that ran out of memory
    std::int64_t recovered = 0;     ///< trials that did so, and ran in a later attempt to their end or until they were pruned

    Tally() = default;
    explicit Tally(std::span<const Trial> trials) {
        for (const Trial& trial : trials) add(trial);
    }
    /// Trials that do not count as done are passed over.
    void add(const Trial& trial);
    [[nodiscard]] std::int64_t done() const { return complete + pruned + infeasible + failed; }
};

}  // namespace hpo::tune
