// SPDX-License-Identifier: MIT
#include "hpo/space/repetition.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/core/distribution.hpp"
#include "hpo/space/narrowing.hpp"

namespace hpo {

std::optional<std::string> changed_question(const Space& space, const ParamSet& params, std::int64_t number) {
    struct Change {
        std::string what;
    };
    struct Repeated final : ParamSource {
        const ParamSet& params;
        std::vector<std::pair<std::string, Narrowing>> asked{};
        explicit Repeated(const ParamSet& answers) : params{answers} {}
        double draw(const std::string& name, const Distribution& distribution, const Narrowing& within,
                    const ParamSet& /*so_far*/) override {
            const Param* const answered = params.find(name);
            if (!answered) throw Change{"asks for '" + name + "'"};
            if (*answered->distribution != distribution) {
                throw Change{"asks for '" + name + "' as " + describe(distribution) + ", not as " + describe(*answered->distribution)};
            }
            if (!within.admits(answered->internal)) throw Change{"narrows '" + name + "' so that its value is left out"};
            asked.emplace_back(name, within);
            return answered->internal;
        }
        void refuse(std::string_view reason) override { throw Change{"refuses them: " + std::string{reason}}; }
    };
    std::vector<std::pair<std::string, Narrowing>> first;
    for (const bool again : {false, true}) {
        Repeated source{params};
        SpaceTrial trial{source, number};
        try {
            space(trial);
        } catch (const Change& change) {
            return change.what;
        }
        for (const Param& param : params) {
            if (!trial.params().find(param.name)) return "does not ask for '" + param.name + "'";
        }
        for (std::size_t i = 0; again && i < source.asked.size(); ++i) {
            for (const auto& [name, within] : first) {
                const Narrowing& now = source.asked[i].second;
                if (name != source.asked[i].first) continue;
                if (now.low != within.low || now.high != within.high || now.allowed != within.allowed)
                    return "narrows '" + name + "' otherwise";
            }
        }
        first = std::move(source.asked);
    }
    return std::nullopt;
}

}  // namespace hpo
