// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hpo/core/trial.hpp"

namespace hpo {

/// One parameter of the joint space.
struct Dimension {
    std::string name;
    std::shared_ptr<const Distribution> distribution;
};

/// The joint space of a define-by-run study, inferred from the trials that `counts` accepts. It is the union of their parameters in order
/// of first appearance, each with its latest distribution. A parameter whose distributions are incompatible (its kind or its list of
/// choices changed) is left out. O(trials * parameters) if trials have their parameters in the same order, else O(trials * parameters^2).
template <std::predicate<const Trial&> Counts>
[[nodiscard]] std::vector<Dimension> inferred_space(std::span<const Trial> trials, Counts counts) {
    std::vector<Dimension> space;
    std::vector<bool> is_mixed;  // its distributions are incompatible
    for (const Trial& trial : trials) {
        if (!counts(trial)) continue;
        std::size_t expected = 0;  // probable position of the next parameter
        for (const Param& param : trial.params) {
            std::size_t at = expected;
            if (at >= space.size() || space[at].name != param.name) {
                for (at = 0; at < space.size() && space[at].name != param.name;) ++at;
            }
            expected = at + 1;
            if (at == space.size()) {
                space.push_back({param.name, param.distribution});
                is_mixed.push_back(false);
            } else if (space[at].distribution != param.distribution) {
                if (!compatible(*space[at].distribution, *param.distribution)) is_mixed[at] = true;
                space[at].distribution = param.distribution;
            }
        }
    }
    std::vector<Dimension> kept;
    for (std::size_t i = 0; i < space.size(); ++i) {
        if (!is_mixed[i]) kept.push_back(std::move(space[i]));
    }
    return kept;
}

/// The joint space of all `trials`.
[[nodiscard]] inline std::vector<Dimension> inferred_space(std::span<const Trial> trials) {
    return inferred_space(trials, [](const Trial&) { return true; });
}

}  // namespace hpo
