// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

namespace hpo {

/// The sizes of a model that a memory formula needs. The trainer measures them in a worker without training the model.
struct Profile {
    std::int64_t parameters = 0;            ///< number of elements in all parameters
    std::int64_t trainable_parameters = 0;  ///< number of elements that get a gradient
    std::int64_t weight_bytes = 0;          ///< parameters and buffers, as stored
    std::int64_t gradient_bytes = 0;        ///< gradients of the trainable parameters
    std::int64_t optimizer_bytes = 0;       ///< the optimizer's state after its first step
    /// Held from the forward to the backward pass: `activation_fixed_bytes + examples * activation_bytes_per_example`.
    std::int64_t activation_fixed_bytes = 0;
    std::int64_t activation_bytes_per_example = 0;

    static constexpr void fields(auto field) {
        field("parameters", &Profile::parameters);
        field("trainable_parameters", &Profile::trainable_parameters);
        field("weight_bytes", &Profile::weight_bytes);
        field("gradient_bytes", &Profile::gradient_bytes);
        field("optimizer_bytes", &Profile::optimizer_bytes);
        field("activation_fixed_bytes", &Profile::activation_fixed_bytes);
        field("activation_bytes_per_example", &Profile::activation_bytes_per_example);
    }
};

/// What a memory guard must know about the model before it can answer.
enum class Evidence {
    none,          ///< parameters and plan are enough
    shape,         ///< a Profile
    virtual_card,  ///< a PeakPrediction from a virtual card; without one as for dry_run
    dry_run,       ///< a PeakPrediction from a dry run; without one from a probe; without that a Profile
    probe,         ///< a PeakPrediction from a probe; without one a Profile
};

}  // namespace hpo
