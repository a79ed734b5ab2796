// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include "hpo/core/field.hpp"
#include "hpo/guard/concept.hpp"
#include "hpo/guard/formula.hpp"
#include "hpo/guard/predicted_estimate.hpp"

namespace hpo::guard {

/// The common base of guards that ask a worker for a prediction:
///
///     need = (1 + uncertainty + margin) * predicted need
///
/// The uncertainty is the source's own. Without a prediction the estimate is the formula's. `source` names the one that was used.
class PredictedGuard {
public:
    struct Config {
        double margin = 0;
    };
    static constexpr void fields(auto field) { field("margin", &Config::margin, "share added to what was predicted, 0.05 for 5 %"); }

    PredictedGuard() : PredictedGuard{Config{}} {}
    explicit PredictedGuard(Config config) : config_{config} {
        if (!(config.margin >= 0) || !std::isfinite(config.margin)) throw bad_value("margin", display_text(config.margin), "0 or more");
    }

    [[nodiscard]] Estimate estimate(const MemoryQuery& query) const {
        return query.prediction ? predicted_estimate(*query.prediction, config_.margin) : formula_.estimate(query);
    }

private:
    Config config_;
    Formula formula_;
};

}  // namespace hpo::guard
