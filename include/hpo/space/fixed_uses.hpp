// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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
    [[nodiscard]] std::optional<double> draw(const std::string& name, const Distribution& distribution, const Narrowing& within) {
        for (std::size_t i = 0; i < fixed_.size(); ++i) {
            if (fixed_[i].first != name) continue;
            note(name, distribution, within);
            const auto internal = to_internal(distribution, fixed_[i].second);
            if (!internal || !within.admits(*internal)) {
                ++refusals_;
                throw OutsideFixed{{"a fixed value that this branch has not"}};
            }
            met_[i] = true;
            return internal;
        }
        return std::nullopt;
    }

    /// How many proposals were refused for a fixed value.
    [[nodiscard]] std::size_t refusals() const noexcept { return refusals_; }
    /// True when each fixed value was taken by some proposal.
    [[nodiscard]] bool all_met() const { return std::find(met_.begin(), met_.end(), false) == met_.end(); }
    /// What is wrong where no proposal had the values: one that none has, with all that the proposals had, else all of them together.
    [[nodiscard]] Error nothing_left() const {
        std::vector<std::string> met;
        std::vector<std::string> known;
        std::size_t unmet = fixed_.size();
        for (std::size_t i = 0; i < fixed_.size(); ++i) {
            if (met_[i]) met.push_back(fixed_[i].first + "=" + display_text(fixed_[i].second));
            if (met_[i] || !known.empty()) continue;
            unmet = i;
            for (const Known& each : known_) {
                if (each.name == fixed_[i].first) known.push_back(each.text);
            }
        }
        const std::string others = join_names(met);
        if (known.empty()) return Error{Errc::bad_value, "fixed parameters: no combination of the space has " + others};
        return bad_value("fixed parameter '" + fixed_[unmet].first + "'", display_text(fixed_[unmet].second),
                         (known.size() > 1 ? "one of " : "") + join_names(known) + (met.empty() ? "" : " beside " + others));
    }

private:
    /// What some proposal has for a fixed parameter, as text: a choice, or a range.
    struct Known {
        std::string name;
        std::string text;
    };
    void note(const std::string& name, const Distribution& distribution, const Narrowing& within) {
        const auto* const categorical = get_if<CategoricalDistribution>(&distribution);
        if (!categorical) return add(name, describe(narrowed(distribution, within).value_or(distribution)));
        for (std::size_t i = 0; i < categorical->choices.size(); ++i) {
            if (within.admits(static_cast<double>(i))) add(name, display_text(categorical->choices[i]));
        }
    }
    void add(const std::string& name, const std::string& text) {
        constexpr std::size_t most = 100;  // a range may hang on a number without end
        for (const Known& each : known_) {
            if (each.name == name && each.text == text) return;
        }
        if (known_.size() < most) known_.push_back({name, text});
    }

    const std::vector<std::pair<std::string, Value>>& fixed_;
    std::vector<bool> met_;  ///< by fixed value: some proposal took it
    std::vector<Known> known_;
    std::size_t refusals_ = 0;
};

}  // namespace hpo
