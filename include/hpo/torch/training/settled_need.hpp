// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>

#include "hpo/core/memory_reading.hpp"

namespace hpo::libtorch {

/// Predicts from a training's first epoch what the rest of it needs. This is the larger of two values. One is the peak reserved in the
/// epoch. The other is the peak of its first pass, plus what the training keeps more by the epoch's end.
///
/// The second one matters because an optimizer makes its state in its first step. The passes before that step run without the state. If the
/// first batch was the largest, no later batch shows what the two need together.
class SettledNeed {
public:
    /// Before the epoch's first pass.
    void begin(const MemoryReading& reading) { kept_at_begin_ = reading.allocated.value_or(0); }
    /// After the first forward and backward passes, before the optimizer's step.
    void first_pass(const MemoryReading& reading) { first_pass_ = reading.peak_reserved.value_or(0); }
    /// The bytes that the rest needs. Call it after the epoch and its evaluation.
    [[nodiscard]] std::int64_t after_epoch(const MemoryReading& reading) const {
        const std::int64_t grown = std::max<std::int64_t>(0, reading.allocated.value_or(0) - kept_at_begin_);
        return std::max(reading.peak_reserved.value_or(0), first_pass_ + grown);
    }

private:
    std::int64_t kept_at_begin_ = 0;
    std::int64_t first_pass_ = 0;
};

}  // namespace hpo::libtorch
