// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <string_view>

#include "hpo/core/field.hpp"
#include "hpo/guard/concept.hpp"

namespace hpo::guard {

/// The documented estimate of a training step, from the model's Profile:
///
///     need = (1 + margin) * (weights + gradients + optimizer state + activations)
///     activations = activation_fixed_bytes + micro-batch * activation_bytes_per_example
///
/// In fp32, weights, gradients and optimizer state take 4 + 4 + 8 bytes a parameter for Adam, 4 + 4 for SGD, and 4 + 4 + 4 for SGD with
/// momentum. An encoder layer of width h has a heads, length s and batch b. It keeps s*b*h*(34 + 5*a*s/h) bytes of activations in half
/// precision (Korthikanti et al. 2022, arXiv 2205.05198), and s*b*h*(66 + 9*a*s/h) in fp32.
///
/// The margin covers what the sum leaves out: rounding and fragmentation in the allocator, temporaries, and kernels' workspaces. In replays
/// of the caching allocator, the required capacity is 0 to 20 % above the peak of live bytes.
///
/// Half precision and activation checkpointing are not modelled, so with them the estimate is too high. There is no estimate without a
/// Profile. Nor is there one without a batch if activations depend on it.
class Formula {
public:
    static constexpr std::string_view name = "formula";
    static constexpr std::string_view summary = "adds up weights, gradients, optimizer state and activations, and a margin";
    struct Config {
        double margin = 0.2;
    };
    static constexpr void fields(auto field) { field("margin", &Config::margin, "share added to the sum, 0.2 for 20 %"); }

    Formula() : Formula{Config{}} {}
    explicit Formula(Config config) : config_{config} {
        if (!(config.margin >= 0) || !std::isfinite(config.margin)) throw bad_value("margin", display_text(config.margin), "0 or more");
    }

    [[nodiscard]] Estimate estimate(const MemoryQuery& query) const {
        Estimate estimate;
        estimate.source = name;
        const auto micro = query.plan.effective_micro_batch();
        if (!query.profile || (!micro && query.profile->activation_bytes_per_example > 0)) return estimate;
        const Profile& profile = *query.profile;
        // Doubles are exact up to 2^53 bytes, and a product of absurd parameters does not wrap around.
        const double activations = static_cast<double>(profile.activation_fixed_bytes) +
                                   static_cast<double>(micro.value_or(0)) * static_cast<double>(profile.activation_bytes_per_example);
        const double sum = static_cast<double>(profile.weight_bytes) + static_cast<double>(profile.gradient_bytes) +
                           static_cast<double>(profile.optimizer_bytes) + activations;
        const auto whole = [](double bytes) { return static_cast<std::int64_t>(std::min(std::ceil(bytes), 0x1.0p62)); };
        estimate.need = whole(sum * (1 + config_.margin));
        estimate.parts = {{"weights", profile.weight_bytes},
                          {"gradients", profile.gradient_bytes},
                          {"optimizer", profile.optimizer_bytes},
                          {"activations", whole(activations)},
                          {"margin", *estimate.need - whole(sum)}};
        return estimate;
    }
    [[nodiscard]] Evidence evidence() const { return Evidence::shape; }

private:
    Config config_;
};

static_assert(MemoryGuard<Formula> && Configurable<Formula>);

}  // namespace hpo::guard
