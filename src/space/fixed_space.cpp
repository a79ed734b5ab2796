// SPDX-License-Identifier: MIT
#include "hpo/space/fixed_space.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace hpo {

Narrowing narrowed_to(const Distribution& distribution, double internal) {
    Narrowing within;
    if (const auto* categorical = std::get_if<CategoricalDistribution>(&distribution)) {
        within.allowed.assign(categorical->choices.size(), false);
        within.allowed[static_cast<std::size_t>(internal)] = true;
    } else {
        within.low = within.high = internal;
    }
    return within;
}

Space with_fixed(Space space, FixedUses& uses) {
    return [space = std::move(space), &uses](SpaceTrial& outer) {
        struct Source final : ParamSource {
            SpaceTrial& outer;
            FixedUses& uses;
            Source(SpaceTrial& trial, FixedUses& fixed) : outer{trial}, uses{fixed} {}
            double draw(const std::string& name, const Distribution& distribution, const Narrowing& within,
                        const ParamSet& /*so_far*/) override {
                const auto chosen = uses.draw(name, distribution, within);
                return outer.draw(name, distribution, chosen ? narrowed_to(distribution, *chosen) : within);
            }
            void refuse(std::string_view reason) override { outer.require(false, reason); }
        };
        Source source{outer, uses};
        SpaceTrial inner{source, outer.number()};
        space(inner);
    };
}

}  // namespace hpo
