// SPDX-License-Identifier: MIT
#include "analyze/shown/objectives.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "hpo/trainer/objectives.hpp"
#include "support/metric_text.hpp"
#include "support/study_attributes.hpp"

namespace hpo::analyze {

using namespace hpo::tools;

namespace {

/// The names that hpo-tune keeps: those of several objectives as one text, "loss, accuracy".
std::vector<std::string> names_of_ours(const hpo::Study& study) {
    const Json metric = json_attribute(study.system_attributes, metric_attribute);
    if (!metric.is_string()) return {};
    std::string rest = metric.get<std::string>();
    std::vector<std::string> names;
    constexpr std::string_view comma = ", ";
    for (auto at = rest.find(comma); at != std::string::npos && study.directions.size() > 1; at = rest.find(comma)) {
        names.push_back(rest.substr(0, at));
        rest.erase(0, at + comma.size());
    }
    names.push_back(rest);
    return names;
}

/// The names that Optuna keeps.
std::vector<std::string> names_of_optuna(const hpo::Study& study) {
    const Json list = json_attribute(study.system_attributes, "study:metric_names");
    std::vector<std::string> names;
    if (!list.is_array()) return names;
    for (const Json& name : list) names.push_back(name.is_string() ? name.get<std::string>() : std::string{});
    return names;
}

}  // namespace

Json json_attribute(const hpo::Attributes& attributes, std::string_view name) {
    const auto found = attributes.find(name);
    return found == attributes.end() ? Json(nullptr) : Json::parse(found->second, nullptr, false);
}

Objectives::Objectives(const hpo::Study& study) : directions_{study.directions} {
    const auto is_usable = [&](const std::vector<std::string>& names) {
        return names.size() == directions_.size() && std::ranges::none_of(names, &std::string::empty);
    };
    if (auto ours = names_of_ours(study); is_usable(ours)) {
        names_ = std::move(ours);
        reported_ = hpo::reported_metric(names_);
    } else if (auto theirs = names_of_optuna(study); is_usable(theirs)) {
        names_ = std::move(theirs);
    }
}

std::string Objectives::text() const {
    std::string text;
    for (std::size_t i = 0; i < size(); ++i) {
        text += (i == 0 ? "" : ", ") + std::string{to_text(directions_[i])};
        if (!names_.empty()) text += " " + names_[i];
    }
    return text;
}

std::string Objectives::value_text(std::size_t objective, double value) const {
    return metric_value_text(names_.empty() || objective >= size() ? std::string_view{} : names_[objective], value);
}

std::string Objectives::values_text(const hpo::Trial& trial) const {
    std::string text;
    for (std::size_t i = 0; i < trial.values.size(); ++i) {
        text += i == 0 ? "" : ", ";
        if (!names_.empty() && i < size()) text += names_[i] + " ";
        text += value_text(i, trial.values[i]);
    }
    return text.empty() ? "-" : text;
}

std::vector<Table::Column> Objectives::columns() const {
    if (size() == 1) return {{names_.empty() ? "value" : names_[0], Table::Align::right}};
    std::vector<Table::Column> columns;
    for (std::size_t i = 0; i < size(); ++i) {
        const std::string name = names_.empty() ? "objective " + std::to_string(i) : names_[i];
        columns.push_back({std::string{to_text(directions_[i])} + " " + name, Table::Align::right});
    }
    return columns;
}

std::vector<std::string> Objectives::cells(const hpo::Trial& trial) const {
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < size(); ++i) cells.push_back(i < trial.values.size() ? value_text(i, trial.values[i]) : "-");
    return cells;
}

Json Objectives::json() const { return names_.empty() ? Json(nullptr) : Json(names_); }

}  // namespace hpo::analyze
