// SPDX-License-Identifier: MIT
#include "hpo/space/fixed_uses.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace hpo {

std::optional<double> FixedUses::draw(const std::string& name, const Distribution& distribution, const Narrowing& within) {
    for (std::size_t i = 0; i < fixed_.size(); ++i) {
        if (fixed_[i].first != name) continue;
        note(name, distribution, within);
        const auto internal = to_internal_as_written(distribution, fixed_[i].second);
        if (!internal || !within.admits(*internal)) {
            ++refusals_;
            throw OutsideFixed{{"a fixed value that this branch does not have"}};
        }
        met_[i] = true;
        return internal;
    }
    return std::nullopt;
}

Error FixedUses::nothing_left() const {
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

void FixedUses::note(const std::string& name, const Distribution& distribution, const Narrowing& within) {
    const auto* const categorical = std::get_if<CategoricalDistribution>(&distribution);
    if (!categorical) return add(name, describe(narrowed(distribution, within).value_or(distribution)));
    for (std::size_t i = 0; i < categorical->choices.size(); ++i) {
        if (within.admits(static_cast<double>(i))) add(name, display_text(categorical->choices[i]));
    }
}

void FixedUses::add(const std::string& name, const std::string& text) {
    constexpr std::size_t most = 100;  // a range may depend on a number and then has no end of variants
    for (const Known& each : known_) {
        if (each.name == name && each.text == text) return;
    }
    if (known_.size() < most) known_.push_back({name, text});
}

}  // namespace hpo
