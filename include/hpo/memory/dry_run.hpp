// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <string_view>

#include "hpo/core/field.hpp"
#include "hpo/memory/concept.hpp"
#include "hpo/memory/formula.hpp"
#include "hpo/memory/predicted_estimate.hpp"

namespace hpo::memory {

/// Asks a worker for a dry run of the attempt: the plugin's own build, steps and evaluation on a device that holds no numbers, and what
/// they take and give back held against the device's allocator.
///
///     need = (1 + uncertainty + margin) * predicted need
///
/// The uncertainty is the source's own. Where the trainer cannot be run dry the worker probes it, and where it cannot do that either
/// the estimate is the formula's; `source` says whose it is.
class DryRun {
public:
    static constexpr std::string_view name = "dry_run";
    static constexpr std::string_view summary = "runs the attempt's own steps without numbers and replays what they allocate";
    struct Config {
        double margin = 0;
    };
    static constexpr void fields(auto field) { field("margin", &Config::margin, "share added to what was predicted, 0.05 for 5 %"); }

    DryRun() : DryRun{Config{}} {}
    explicit DryRun(Config config) : config_{config} {
        if (!(config.margin >= 0) || !std::isfinite(config.margin)) throw bad_value("margin", display_text(config.margin), "0 or more");
    }

    [[nodiscard]] Estimate estimate(const MemoryQuery& query) const {
        return query.prediction ? predicted_estimate(*query.prediction, config_.margin) : formula_.estimate(query);
    }
    [[nodiscard]] Evidence evidence() const { return Evidence::dry_run; }

private:
    Config config_;
    Formula formula_;
};

static_assert(MemoryGuard<DryRun> && Configurable<DryRun>);

}  // namespace hpo::memory
