// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/study.hpp"
#include "support/json.hpp"
#include "support/text.hpp"

namespace hpo::analyze {

/// Beside the value of a trial that is complete although it ran out of memory.
inline constexpr const char* doubtful_value_text = "its own message says that it ran out of memory, so the value may be a penalty";

/// An attribute as JSON; null if there is none.
[[nodiscard]] hpo::tools::Json json_attribute(const hpo::Attributes& attributes, std::string_view name);

/// What a study optimises, in words: its metrics by name, their directions, and the values of its trials.
///
/// hpo-tune keeps the names in the user attribute `metric`, Optuna's set_metric_names in the system attribute `study:metric_names`.
class Objectives {
public:
    explicit Objectives(const hpo::Study& study);

    /// One name for each objective; empty if the study stores none.
    [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }
    /// The metric that the trainer reports after each step. Empty if it is not known: other programs than ours report what they like.
    [[nodiscard]] const std::string& reported() const noexcept { return reported_; }
    [[nodiscard]] const std::vector<hpo::Direction>& directions() const noexcept { return directions_; }
    [[nodiscard]] std::size_t size() const noexcept { return directions_.size(); }

    /// "minimize loss, maximize accuracy"; without names "minimize, maximize".
    [[nodiscard]] std::string text() const;
    /// "loss 0.31, accuracy 0.86"; without names "0.31, 0.86"; "-" without values.
    [[nodiscard]] std::string values_text(const hpo::Trial& trial) const;
    /// A value of one objective, without its name.
    [[nodiscard]] std::string value_text(std::size_t objective, double value) const;

    /// A column for each objective: "accuracy", of several "maximize accuracy"; without names "value", of several "minimize objective 0".
    [[nodiscard]] std::vector<hpo::tools::Table::Column> columns() const;
    /// The cells of a trial in these columns.
    [[nodiscard]] std::vector<std::string> cells(const hpo::Trial& trial) const;

    /// The names; null if the study stores none.
    [[nodiscard]] hpo::tools::Json json() const;

private:
    std::vector<hpo::Direction> directions_;
    std::vector<std::string> names_;
    std::string reported_;
};

}  // namespace hpo::analyze
