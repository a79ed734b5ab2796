// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
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

/// The joint space of a define-by-run study, as far as trials have shown it. It is the union of their parameters in order of first
/// appearance, each with its latest distribution. A parameter whose distributions are incompatible (its kind or its list of choices
/// changed) is left out.
class InferredSpace {
public:
    /// Returns true if the space is another one now. O(parameters) if trials have their parameters in the same order, else O(parameters^2).
    bool take_in(const ParamSet& params) {
        bool is_other = false;
        std::size_t expected = 0;  // probable position of the next parameter
        for (const Param& param : params) {
            std::size_t at = expected;
            if (at >= all_.size() || all_[at].name != param.name) {
                for (at = 0; at < all_.size() && all_[at].name != param.name;) ++at;
            }
            expected = at + 1;
            if (at == all_.size()) {
                all_.push_back({param.name, param.distribution});
                is_mixed_.push_back(false);
                is_other = true;
            } else if (all_[at].distribution != param.distribution) {
                is_other = is_other || *all_[at].distribution != *param.distribution;
                if (!compatible(*all_[at].distribution, *param.distribution)) is_mixed_[at] = true;
                all_[at].distribution = param.distribution;
            }
        }
        return is_other;
    }

    [[nodiscard]] std::vector<Dimension> dimensions() const {
        std::vector<Dimension> kept;
        for (std::size_t i = 0; i < all_.size(); ++i) {
            if (!is_mixed_[i]) kept.push_back(all_[i]);
        }
        return kept;
    }

private:
    std::vector<Dimension> all_;
    std::vector<bool> is_mixed_;  ///< its distributions are incompatible
};

/// The joint space that the trials show which `counts` accepts.
template <std::predicate<const Trial&> Counts>
[[nodiscard]] std::vector<Dimension> inferred_space(std::span<const Trial> trials, Counts counts) {
    InferredSpace space;
    for (const Trial& trial : trials) {
        if (counts(trial)) space.take_in(trial.params);
    }
    return space.dimensions();
}

/// The joint space of all `trials`.
[[nodiscard]] inline std::vector<Dimension> inferred_space(std::span<const Trial> trials) {
    return inferred_space(trials, [](const Trial&) { return true; });
}

}  // namespace hpo
