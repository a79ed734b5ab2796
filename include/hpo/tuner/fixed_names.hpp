// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/core/history.hpp"
#include "hpo/core/trial.hpp"
#include "hpo/sampler/random.hpp"
#include "hpo/sampler/suggest.hpp"
#include "hpo/tuner/options.hpp"

namespace hpo::tuner {

/// Finds names of TuneOptions::fixed that no trial asks for. A name that only some trials ask for may still come, so a missing name is an
/// error only if all trials or proposals so far asked for the same names.
class FixedNames {
public:
    /// `options` must outlive this object.
    explicit FixedNames(const TuneOptions& options) : options_{options} {}

    void see(const ParamSet& params) {
        if (options_.fixed.empty()) return;  // a study may have many trials
        std::set<std::string> names;
        for (const Param& param : params) names.insert(param.name);
        are_conditional_ = are_conditional_ || (!asked_.empty() && names != asked_);
        asked_.merge(names);
    }
    /// The names that nothing has asked for, in their order.
    [[nodiscard]] std::vector<std::string> unused() const {
        std::vector<std::string> unused;
        for (const auto& [name, value] : options_.fixed) {
            if (!asked_.contains(name)) unused.push_back(name);
        }
        return unused;
    }
    /// Throws unknown_name, with the names of the space, if a name is missing and nothing conditional was seen.
    void require_known() const {
        const auto missing = unused();
        if (missing.empty() || asked_.empty() || are_conditional_) return;
        throw unknown_name("TuneOptions::fixed", "parameter", missing.front(), std::vector<std::string>{asked_.begin(), asked_.end()});
    }

private:
    const TuneOptions& options_;
    std::set<std::string> asked_;  ///< by at least one
    bool are_conditional_ = false;
};

/// Throws unknown_name for a fixed name if none of a thousand proposals of the space asks for it, and all ask for the same names. Draws one
/// proposal if it has all fixed names. A space that fails is left for the trial that meets the failure.
inline void require_fixed_names(const Space& space, const TuneOptions& options) {
    if (options.fixed.empty()) return;
    constexpr std::int64_t proposals = 1000;
    FixedNames names{options};
    sampler::Random random;
    const std::vector<Trial> none;
    const History history{.trials = none};
    try {
        for (std::int64_t number = 0; number < proposals; ++number) {
            names.see(suggest_params(random, space, {.number = number, .history = history}, Seed{options.seed}, options.fixed));
            if (names.unused().empty()) return;
        }
    } catch (...) {
        return;
    }
    names.require_known();
}

/// The fixed names that no trial of a study has asked for.
[[nodiscard]] inline std::vector<std::string> unused_fixed(const std::vector<Trial>& trials, const TuneOptions& options) {
    FixedNames names{options};
    for (const Trial& trial : trials) names.see(trial.params);
    return names.unused();
}

/// Throws unknown_name for a fixed name that none of a study's complete trials has asked for, if all asked for the same names.
inline void require_asked_names(const std::vector<Trial>& trials, const TuneOptions& options) {
    FixedNames names{options};
    for (const Trial& trial : trials) {
        if (trial.state == TrialState::complete) names.see(trial.params);
    }
    names.require_known();
}

}  // namespace hpo::tuner
