// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "hpo/core/trial.hpp"

namespace hpo {

/// A parameter of the joint space.
struct Dimension {
    std::string name;
    std::shared_ptr<const Distribution> distribution;
};

/// The joint space of a define-by-run study, inferred from its trials: the union of their parameters, each with its most
/// recent distribution, in order of first appearance. Parameters whose distributions are incompatible (a kind or a list of choices that
/// changed) are left out. O(trials * parameters^2).
[[nodiscard]] inline std::vector<Dimension> inferred_space(std::span<const Trial> trials) {
    std::vector<Dimension> space;
    std::set<std::string, std::less<>> incompatible;
    for (const Trial& trial : trials) {
        for (const Param& param : trial.params) {
            Dimension* known = nullptr;
            for (Dimension& dimension : space) {
                if (dimension.name == param.name) known = &dimension;
            }
            if (!known) {
                space.push_back({param.name, param.distribution});
            } else if (known->distribution != param.distribution) {
                if (!compatible(*known->distribution, *param.distribution)) incompatible.insert(param.name);
                known->distribution = param.distribution;
            }
        }
    }
    std::erase_if(space, [&](const Dimension& dimension) { return incompatible.contains(dimension.name); });
    return space;
}

}  // namespace hpo
