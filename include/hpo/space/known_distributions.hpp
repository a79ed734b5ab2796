// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/core/param_set.hpp"
#include "hpo/space/space_trial.hpp"

namespace hpo {

/// The parameters that a study has had so far, with their distributions. A name has one kind of values in all trials.
class KnownDistributions {
public:
    /// The known distribution of the parameter that `distribution` is not compatible with. Null if there is none.
    [[nodiscard]] const Distribution* conflict(std::string_view name, const Distribution& distribution) const {
        const Param* const known = known_.find(name);
        return known && !compatible(*known->distribution, distribution) ? known->distribution.get() : nullptr;
    }

    /// A distribution that a trial asks for, with `high` lowered to the last point of its grid. Throws bad_value for one that the study
    /// cannot have.
    [[nodiscard]] Distribution admitted(const std::string& name, Distribution distribution) const {
        const std::string place = "parameter '" + name + "'";
        require_parameter_name(name);
        if (const auto* categorical = std::get_if<CategoricalDistribution>(&distribution)) require_choices(name, categorical->choices);
        distribution = checked(place, std::move(distribution));
        if (const Distribution* known = conflict(name, distribution)) {
            throw bad_value(place, describe(distribution) + ", where other trials have " + describe(*known),
                            "the same kind, scale and choices in all trials of a study, or another name; only ranges may change");
        }
        return distribution;
    }

    /// Adds a trial's parameters. Throws bad_value if a parameter's distribution is not compatible with the known one: another kind,
    /// another scale, or another list of choices. Ranges of numbers may change.
    void admit(const ParamSet& params) {
        std::size_t place = 0;
        for (const Param& param : params) {
            const Param* const known = known_.find(param.name, place++);
            if (known && known->distribution == param.distribution) continue;
            if (known && !compatible(*known->distribution, *param.distribution)) {
                throw bad_value("parameter '" + param.name + "'",
                                describe(*param.distribution) + " in this trial, where others have " + describe(*known->distribution),
                                "one distribution for each name in a study; narrow it with min, max or only, or give it another name");
            }
            known_.set(param);
        }
    }

    /// Lets each parameter whose distribution equals the known one share it, so that a long study keeps one of them.
    void share(ParamSet& params) const {
        std::vector<Param> equal;
        std::size_t place = 0;
        for (const Param& param : params) {
            const Param* const known = known_.find(param.name, place++);
            if (known && known->distribution != param.distribution && *known->distribution == *param.distribution)
                equal.push_back({param.name, known->distribution, param.internal});
        }
        for (Param& param : equal) params.set(std::move(param));
    }

private:
    ParamSet known_;  ///< with the latest distribution and value of each parameter
};

}  // namespace hpo
