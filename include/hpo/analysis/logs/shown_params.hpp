// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/core/trial.hpp"

namespace hpo::analysis {

/// The names by which a reader knows lines that may show a trial's parameters.
class ParamNames {
public:
    ParamNames() = default;
    explicit ParamNames(std::span<const Trial> trials) { add(trials); }

    /// Adds those of another study.
    void add(std::span<const Trial> trials);

    /// True if a line gives values to all names that every trial of a study has, or, if there are none, to the commonest name.
    [[nodiscard]] bool may_be_shown(std::string_view line) const;

private:
    std::vector<std::vector<std::string>> names_;  ///< of each study that has parameters
};

/// Finds the trials whose parameters a line shows: "hyperparameters: {'lr': 0.01, 'batch': 32}", "lr=0.01, batch=32" or JSON. Numbers may
/// be rounded to the digits that the line has. A query costs a binary search for each name that trials are found by, and a comparison for
/// each trial that has the same value there.
class ShownTrials {
public:
    explicit ShownTrials(std::span<const Trial> trials);

    /// The trials all of whose parameters `line` shows.
    [[nodiscard]] std::vector<const Trial*> in(std::string_view line) const;

private:
    using Entry = std::pair<double, const Trial*>;
    std::map<std::string, std::vector<Entry>> by_number_;  ///< by the number of each trial that has most values in the study; sorted
};

}  // namespace hpo::analysis

namespace hpo::analysis::detail {

/// True if `line` shows each parameter with its value.
[[nodiscard]] bool shows_each(std::string_view line, const ParamSet& params);

}  // namespace hpo::analysis::detail
