// SPDX-License-Identifier: MIT
#include "stored_study.hpp"

#include "hpo/core/error.hpp"
#include "hpo/space/known_distributions.hpp"

namespace hpo::tune {

std::array<std::pair<std::string, std::string>, 2> identity(const Settings& settings) {
    const script::StudyDescription& description = settings.description();
    return {{{"trainer", description.trainer}, {"metric", description.objectives[0].metric}}};
}

void require_same_identity(const Study& stored, const Settings& settings) {
    for (const auto& [key, value] : identity(settings)) {
        const auto has = stored.user_attributes.find(key);
        if (has == stored.user_attributes.end() || has->second == json_quote(value)) continue;
        throw bad_value(settings.place("study"), key + " \"" + value + "\" for study " + stored.name,
                        key + " " + has->second + ", which its trials have; or another --study");
    }
}

void require_same_parameters(const std::vector<Trial>& stored, const std::vector<ParamSet>& proposals) {
    KnownDistributions known;
    for (const Trial& trial : stored) {
        try {
            known.admit(trial.params);
        } catch (const Error&) {  // another program mixed them; new trials are held against the latest
        }
    }
    for (const ParamSet& params : proposals) known.admit(params);
}

}  // namespace hpo::tune
