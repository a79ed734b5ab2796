// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <string_view>

#include "hpo/core/field.hpp"
#include "hpo/memory/concept.hpp"
#include "hpo/memory/formula.hpp"
#include "hpo/memory/predicted_estimate.hpp"

namespace hpo::memory {

/// Asks a worker for a probe of the attempt: a few small real steps, what they take and give back extrapolated to the plan's sizes and
/// held against the device's allocator. For trainers whose dry run does not see all that the kernels take.
///
///     need = (1 + uncertainty + margin) * predicted need
///
/// The uncertainty is the source's own. Where the trainer cannot be probed the estimate is the formula's; `source` says whose it is.
class Probe {
public:
    static constexpr std::string_view name = "probe";
    static constexpr std::string_view summary = "runs a few small real steps of the attempt and extrapolates what they allocate";
    struct Config {
        double margin = 0;
    };
    static constexpr void fields(auto field) { field("margin", &Config::margin, "share added to what was predicted, 0.05 for 5 %"); }

    Probe() : Probe{Config{}} {}
    explicit Probe(Config config) : config_{config} {
        if (!(config.margin >= 0) || !std::isfinite(config.margin)) throw bad_value("margin", display_text(config.margin), "0 or more");
    }

    [[nodiscard]] Estimate estimate(const MemoryQuery& query) const {
        return query.prediction ? predicted_estimate(*query.prediction, config_.margin) : formula_.estimate(query);
    }
    [[nodiscard]] Evidence evidence() const { return Evidence::probe; }

private:
    Config config_;
    Formula formula_;
};

static_assert(MemoryGuard<Probe> && Configurable<Probe>);

}  // namespace hpo::memory
