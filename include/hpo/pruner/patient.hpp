// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "hpo/core/field.hpp"
#include "hpo/pruner/concept.hpp"

namespace hpo::pruner {

/// Early stopping: prunes a trial whose latest `patience` + 1 reports are all worse than its best before them. It looks at the trial alone.
/// Decides as Optuna's PatientPruner without a pruner inside: NaN is left out, and nothing is pruned while there is no other value before
/// or since.
class Patient {
public:
    static constexpr std::string_view name = "patient";
    static constexpr std::string_view summary =
        "prunes a trial whose latest reports are all worse than its best before them (early stopping)";
    struct Config {
        std::int64_t patience = 10;
        double min_delta = 0;
    };
    static constexpr void fields(auto field) {
        field("patience", &Config::patience, "reports in a row that may be worse than the best before them");
        field("min_delta", &Config::min_delta, "by how much the values since then must be worse than the best before");
    }

    Patient() : Patient{Config{}} {}
    explicit Patient(Config config) : config_{config} {
        require_at_least<0>("patience", config.patience);
        if (!(config.min_delta >= 0)) throw bad_value("min_delta", display_text(config.min_delta), "0 or more");
    }

    [[nodiscard]] Verdict judge(const PruneQuery& query) const {
        const StepValues& reports = query.trial.intermediate;
        const auto count = static_cast<std::int64_t>(reports.size());
        const std::int64_t before = count - 1 - config_.patience;
        if (before < 1) return {};
        double best_before = std::numeric_limits<double>::quiet_NaN();
        double best_since = best_before;
        std::int64_t index = 0;
        for (const auto& [step, value] : reports) {
            double& best = index++ < before ? best_before : best_since;
            if (better(query.direction, value, best)) best = value;
        }
        const double bar = query.direction == Direction::minimize ? best_before + config_.min_delta : best_before - config_.min_delta;
        if (std::isnan(best_since) || std::isnan(best_before) || !better(query.direction, bar, best_since)) return {};
        return {Verdict::Answer::prune, "no value of the last " + std::to_string(config_.patience + 1) + " is as good as " +
                                            display_text(best_before) + " before them"};
    }

private:
    Config config_;
};

static_assert(Pruner<Patient> && Configurable<Patient>);

}  // namespace hpo::pruner
