// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

#include "hpo/core/trial.hpp"

namespace hpo::analysis {

/// What came of retries that waited until other processes had given memory back, in trials that have ended.
struct WaitRecord {
    std::size_t retries = 0;
    std::size_t helped = 0;  ///< of these, the ones that did not fail

    /// False if most of them failed again, and there were enough to say so.
    [[nodiscard]] bool may_help() const {
        constexpr std::size_t enough = 3;
        return retries < enough || 2 * helped >= retries;
    }
};

[[nodiscard]] WaitRecord wait_record(std::span<const Trial> trials);

}  // namespace hpo::analysis
