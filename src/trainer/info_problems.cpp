// SPDX-License-Identifier: MIT
#include "hpo/trainer/info_problems.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/core/peak_prediction.hpp"
#include "hpo/core/plan.hpp"
#include "hpo/trainer/parameter_type.hpp"

namespace hpo::detail {

std::vector<std::string> InfoProblems::find() {
    if (info_.name.empty()) add("its name is empty");
    for (const TrainerParameter& parameter : info_.parameters) look_at(parameter);
    look_at_metrics();
    look_at_levers();
    require_parameter("effective batch", info_.effective_batch_parameter);
    require_parameter("length", info_.length_parameter);
    const std::vector<std::string> sources(peak_source_names.begin(), peak_source_names.end());
    for (const std::string& source : info_.peak_sources) {
        if (std::find(sources.begin(), sources.end(), source) == sources.end())
            add(unknown_name("", "source of predictions", source, sources).what());
    }
    return std::move(found_);
}

void InfoProblems::look_at(const TrainerParameter& parameter) {
    if (parameter.name.empty()) return add("a parameter has no name");
    const std::string place = "parameter '" + parameter.name + "'";
    if (!parameters_.insert(parameter.name).second) add(place + " is described twice");
    try {
        if (!parameter.standard.is_null() && !ParameterType::of(parameter).accepted(parameter.standard)) {
            add(place + ": its standard value is '" + display_text(parameter.standard) + "'; expected " + expected_of(parameter));
        } else if (parameter.standard.is_null()) {
            (void)ParameterType::of(parameter);
        }
    } catch (const Error& error) {
        add(error.what());
    }
}

void InfoProblems::look_at_metrics() {
    if (info_.metrics.empty()) add("no metric is described");
    std::set<std::string> names;
    for (const TrainerMetric& metric : info_.metrics) {
        if (metric.name.empty()) add("a metric has no name");
        else if (!names.insert(metric.name).second) add("metric '" + metric.name + "' is described twice");
    }
}

void InfoProblems::look_at_levers() {
    std::vector<std::string> known;
    each_plan_field([&](const auto& field) {
        if (field.role == PlanRole::lever) known.emplace_back(field.key);
    });
    std::set<std::string> names;
    for (const std::string& lever : info_.levers) {
        if (std::find(known.begin(), known.end(), lever) == known.end()) add(unknown_name("", "lever", lever, known).what());
        else if (!names.insert(lever).second) add("lever '" + lever + "' is named twice");
    }
}

}  // namespace hpo::detail

namespace hpo {

std::vector<std::string> unsaid_in(const TrainerInfo& info) {
    std::vector<std::string> found;
    if (info.summary.empty()) found.emplace_back("its summary is empty");
    for (const TrainerParameter& parameter : info.parameters) {
        if (parameter.help.empty()) found.push_back("parameter '" + parameter.name + "' has no help");
    }
    for (const TrainerMetric& metric : info.metrics) {
        if (metric.help.empty()) found.push_back("metric '" + metric.name + "' has no help");
    }
    return found;
}

}  // namespace hpo
