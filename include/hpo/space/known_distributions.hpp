// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "hpo/core/param_set.hpp"

namespace hpo {

/// The parameters that a study has met, each with its distribution: a name has one kind of values in all trials.
class KnownDistributions {
public:
    /// Takes in a trial's parameters. Throws bad_value for one whose distribution does not go with the known one: another kind,
    /// another scale, another list of choices. Ranges of numbers may change.
    void admit(const ParamSet& params) {
        for (const Param& param : params) {
            auto& known = known_[param.name];
            if (known && known != param.distribution && !compatible(*known, *param.distribution)) {
                throw bad_value("parameter '" + param.name + "'",
                                describe(*param.distribution) + " in this trial, where others have " + describe(*known),
                                "one distribution for each name in a study; narrow it with min, max or only, or give it another name");
            }
            known = param.distribution;
        }
    }

private:
    std::map<std::string, std::shared_ptr<const Distribution>, std::less<>> known_;
};

}  // namespace hpo
