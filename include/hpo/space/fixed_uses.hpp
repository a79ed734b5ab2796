// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/core/error.hpp"
#include "hpo/space/space_trial.hpp"

namespace hpo {

/// A proposal of a branch that does not have a fixed value: no part of the space that is left.
struct OutsideFixed : SpaceRejection {};

/// What proposals of a space make of values that a person has fixed. A value that only some branches have restricts a space to these
/// branches; one that none of them has is an error, and so are values that none has together.
class FixedUses {
public:
    /// `fixed` must outlive this object.
    explicit FixedUses(const std::vector<std::pair<std::string, Value>>& fixed) : fixed_{fixed}, met_(fixed.size()) {}

    /// The fixed value of a parameter that a proposal asks for; nothing: it is not fixed. Throws OutsideFixed where the proposal's branch
    /// does not have it.
    [[nodiscard]] std::optional<double> draw(const std::string& name, const Distribution& distribution, const Narrowing& within);

    /// How many proposals were refused for a fixed value.
    [[nodiscard]] std::size_t refusals() const noexcept { return refusals_; }
    /// True when each fixed value was taken by some proposal.
    [[nodiscard]] bool all_met() const { return std::find(met_.begin(), met_.end(), false) == met_.end(); }
    /// What is wrong where no proposal had the values: one that none has, with all that the proposals had, else all of them together.
    [[nodiscard]] Error nothing_left() const;

private:
    /// What some proposal has for a fixed parameter, as text: a choice, or a range.
    struct Known {
        std::string name;
        std::string text;
    };
    void note(const std::string& name, const Distribution& distribution, const Narrowing& within);
    void add(const std::string& name, const std::string& text);

    const std::vector<std::pair<std::string, Value>>& fixed_;
    std::vector<bool> met_;  ///< by fixed value: some proposal took it
    std::vector<Known> known_;
    std::size_t refusals_ = 0;
};

}  // namespace hpo

#ifndef HPO_COMPILED
#include "hpo/space/impl/fixed_uses_inl.hpp"
#endif
