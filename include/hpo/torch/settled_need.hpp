// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

#include "hpo/core/memory_reading.hpp"

namespace hpo::torch {

/// What the rest of a training needs, told from its first epoch: the highest of what the epoch reserved, and of what its first pass would
/// have with all that was kept by the epoch's end. An optimizer makes its state in its first step, so that the passes before it have
/// none; should the epoch's largest batch have been the first, no later one shows what it needs.
class SettledNeed {
public:
    /// Before the epoch's first pass.
    void begin(const MemoryReading& reading) { kept_at_begin_ = reading.allocated.value_or(0); }
    /// After its first passes forward and backward, before the optimizer's step.
    void first_pass(const MemoryReading& reading) { first_pass_ = reading.peak_reserved.value_or(0); }
    /// Bytes; after the epoch and its evaluation.
    [[nodiscard]] std::int64_t after_epoch(const MemoryReading& reading) const {
        const std::int64_t grown = std::max<std::int64_t>(0, reading.allocated.value_or(0) - kept_at_begin_);
        return std::max(reading.peak_reserved.value_or(0), first_pass_ + grown);
    }

private:
    std::int64_t kept_at_begin_ = 0;
    std::int64_t first_pass_ = 0;
};

}  // namespace hpo::torch
