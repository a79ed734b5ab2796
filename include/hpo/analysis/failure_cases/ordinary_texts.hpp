// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "hpo/analysis/failure_cases/finite_values.hpp"
#include "hpo/analysis/failure_cases/json_texts.hpp"
#include "hpo/core/trial.hpp"

namespace hpo::analysis {

/// The texts in the attributes of trials that ran well. They are settings and remarks, not messages of a failure. An attribute is read on
/// its first use.
class OrdinaryTexts {
public:
    OrdinaryTexts() = default;
    explicit OrdinaryTexts(std::span<const Trial> trials)
        : trials_{trials}, ran_well_{static_cast<std::size_t>(std::ranges::count_if(trials, &OrdinaryTexts::counts))} {}

    /// Whether a trial that ran well has this text at the same place of the same user attribute.
    [[nodiscard]] bool contains(const std::string& attribute, const std::string& path, const std::string& text) {
        return times(attribute, path, text) > 0;
    }
    /// Whether most of the trials that ran well have it: then it is no message about one of them.
    [[nodiscard]] bool is_usual(const std::string& attribute, const std::string& path, const std::string& text) {
        return 2 * times(attribute, path, text) > ran_well_;
    }

private:
    using Texts = std::map<std::pair<std::string, std::string>, std::size_t>;

    [[nodiscard]] static bool counts(const Trial& trial) {
        return trial.state == TrialState::complete && !trial.values.empty() && has_finite_values(trial);
    }

    [[nodiscard]] std::size_t times(const std::string& attribute, const std::string& path, const std::string& text) {
        const auto [known, fresh] = known_.try_emplace(attribute);
        if (fresh) read(attribute, known->second);
        const auto found = known->second.find({path, text});
        return found == known->second.end() ? 0 : found->second;
    }

    void read(const std::string& attribute, Texts& texts) const {
        for (const Trial& trial : trials_) {
            if (!counts(trial)) continue;
            const auto found = trial.user_attributes.find(attribute);
            if (found == trial.user_attributes.end()) continue;
            each_json_text(found->second, [&](const std::string& path, const std::string& text) { ++texts[{path, text}]; });
        }
    }

    std::span<const Trial> trials_;
    std::size_t ran_well_ = 0;
    std::map<std::string, Texts> known_;
};

}  // namespace hpo::analysis
