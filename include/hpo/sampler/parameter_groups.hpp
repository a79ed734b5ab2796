// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/core/param_set.hpp"

namespace hpo::sampler {

/// The parameters of a conditional space in groups: two of them are in one group if each trial so far had both or neither. With branches
/// that is what all branches share, and what each has for itself. A trial costs O(parameters log parameters).
class ParameterGroups {
public:
    using Group = std::vector<std::string>;  ///< names, sorted

    void take_in(const ParamSet& params) {
        Group rest;
        for (const Param& param : params) rest.push_back(param.name);
        std::sort(rest.begin(), rest.end());
        std::vector<Group> split;
        for (const Group& group : groups_) {
            Group shared, left;
            std::set_intersection(group.begin(), group.end(), rest.begin(), rest.end(), std::back_inserter(shared));
            if (shared.empty()) {
                split.push_back(group);
                continue;
            }
            std::set_difference(group.begin(), group.end(), shared.begin(), shared.end(), std::back_inserter(left));
            Group other;
            std::set_difference(rest.begin(), rest.end(), shared.begin(), shared.end(), std::back_inserter(other));
            rest = std::move(other);
            split.push_back(std::move(shared));
            if (!left.empty()) split.push_back(std::move(left));
        }
        if (!rest.empty()) split.push_back(std::move(rest));
        groups_ = std::move(split);
    }

    /// The place of a parameter's group; that behind the last one for a parameter that no trial had.
    [[nodiscard]] std::size_t group_of(std::string_view name) const {
        const auto has_it = [&](const Group& group) { return std::binary_search(group.begin(), group.end(), name); };
        return static_cast<std::size_t>(std::find_if(groups_.begin(), groups_.end(), has_it) - groups_.begin());
    }
    [[nodiscard]] const std::vector<Group>& groups() const noexcept { return groups_; }

private:
    std::vector<Group> groups_;
};

}  // namespace hpo::sampler
