// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

namespace hpo {

/// What a model looks like to a memory formula, measured by the trainer in a worker without training it.
struct Profile {
    std::int64_t parameters = 0;            ///< numbers in all parameters
    std::int64_t trainable_parameters = 0;  ///< numbers that get a gradient
    std::int64_t weight_bytes = 0;          ///< parameters and buffers as they lie in memory
    std::int64_t gradient_bytes = 0;        ///< gradients of the trainable ones
    std::int64_t optimizer_bytes = 0;       ///< the optimizer's state after its first step
    /// Held from the forward for the backward pass: `activation_fixed_bytes + examples * activation_bytes_per_example`.
    std::int64_t activation_fixed_bytes = 0;
    std::int64_t activation_bytes_per_example = 0;
};

/// What a memory guard must know about the model before it can answer.
enum class Evidence {
    none,     ///< parameters and plan are enough
    shape,    ///< a Profile
    dry_run,  ///< a PeakPrediction from a dry run; where there is none from a probe, else a Profile
    probe,    ///< a PeakPrediction from a probe; where there is none a Profile
};

}  // namespace hpo
