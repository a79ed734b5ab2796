// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "hpo/analysis/cases/json_texts.hpp"
#include "hpo/core/trial.hpp"

namespace hpo::analysis::inline cases {

/// The texts in the attributes of trials that ran well. They are settings and remarks, not messages of a failure. An attribute is read on
/// its first use.
class OrdinaryTexts {
public:
    OrdinaryTexts() = default;
    explicit OrdinaryTexts(std::span<const Trial> trials) : trials_{trials} {}

    /// Whether a trial that ran well has this text at the same place of the same user attribute.
    [[nodiscard]] bool contains(const std::string& attribute, const std::string& path, const std::string& text) {
        const auto [known, fresh] = known_.try_emplace(attribute);
        if (fresh) read(attribute, known->second);
        return known->second.contains({path, text});
    }

private:
    using Texts = std::set<std::pair<std::string, std::string>>;

    void read(const std::string& attribute, Texts& texts) const {
        for (const Trial& trial : trials_) {
            if (trial.state != TrialState::complete || trial.values.empty() || !std::isfinite(trial.values.front())) continue;
            const auto found = trial.user_attributes.find(attribute);
            if (found == trial.user_attributes.end()) continue;
            each_json_text(found->second, [&](const std::string& path, const std::string& text) { texts.emplace(path, text); });
        }
    }

    std::span<const Trial> trials_;
    std::map<std::string, Texts> known_;
};

}  // namespace hpo::analysis::cases
