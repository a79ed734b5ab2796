// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/space/space_trial.hpp"

namespace hpo {

/// Thrown for a proposal of a branch that does not have a fixed value.
struct OutsideFixed : SpaceRejection {};

/// Records how proposals of a space use values that a person has fixed. A value that only some branches have restricts the space to these
/// branches. A value that no branch has is an error. So are values that no branch has together.
class FixedUses {
public:
    /// `fixed` must outlive this object.
    explicit FixedUses(const std::vector<std::pair<std::string, Value>>& fixed) : fixed_{fixed}, met_(fixed.size()) {}

    /// The fixed value of a parameter that a proposal asks for. Returns nullopt if the parameter is not fixed. Throws OutsideFixed if the
    /// proposal's branch does not have the value.
    [[nodiscard]] std::optional<double> draw(const std::string& name, const Distribution& distribution, const Narrowing& within);

    /// The number of proposals that were refused because of a fixed value.
    [[nodiscard]] std::size_t refusals() const noexcept { return refusals_; }
    /// True if each fixed value was used by some proposal.
    [[nodiscard]] bool all_met() const { return std::find(met_.begin(), met_.end(), false) == met_.end(); }
    /// The error to throw if no proposal had the values. It names a value that no proposal had, with what they had instead, or else all
    /// values together.
    [[nodiscard]] Error nothing_left() const;

private:
    /// What a proposal allows for a fixed parameter, as text: a choice or a range.
    struct Known {
        std::string name;
        std::string text;
    };
    void note(const std::string& name, const Distribution& distribution, const Narrowing& within);
    void add(const std::string& name, const std::string& text);

    const std::vector<std::pair<std::string, Value>>& fixed_;
    std::vector<bool> met_;  ///< for each fixed value: true if a proposal used it
    std::vector<Known> known_;
    std::size_t refusals_ = 0;
};

}  // namespace hpo
