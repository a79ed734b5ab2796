// SPDX-License-Identifier: MIT
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "hpo/core/distribution.hpp"

namespace hpo {

/// The part of a distribution that a script allows in this trial. The distribution itself does not change. So a parameter has one
/// distribution in a study, however a trial narrows it.
struct Narrowing {
    double low = -std::numeric_limits<double>::infinity();  ///< inclusive, internal representation
    double high = std::numeric_limits<double>::infinity();  ///< inclusive
    std::vector<bool> allowed{};                            ///< by choice index; empty: all

    [[nodiscard]] bool admits(double internal) const;
};

/// The values of `distribution` inside `within`, as a distribution. Returns nullopt if there are none. Choices keep their list: the caller
/// draws among `allowed`.
[[nodiscard]] std::optional<Distribution> narrowed(const Distribution& distribution, const Narrowing& within);

}  // namespace hpo

#ifndef HPO_COMPILED
#include "hpo/space/impl/narrowing_inl.hpp"
#endif
