// SPDX-License-Identifier: MIT
#include "tune/display/text.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "hpo/core/plan.hpp"
#include "hpo/core/plan_text.hpp"
#include "hpo/core/value.hpp"

namespace hpo::tune {

std::string number(double value) { return display_text(Value{value}); }

std::string summary_of(const ParamSet& params) {
    std::string text;
    for (const Param& param : params) text += (text.empty() ? "" : " ") + param.name + "=" + display_text(param.value());
    return text;
}

std::string plan_text(const ExecutionPlan& plan) {
    std::string text;
    each_plan_field([&](const auto& field) {
        const std::string words = field.role == PlanRole::lever ? plan_words(field, plan.*field.member) : "";
        const ExecutionPlan nothing;
        if (!words.empty() && plan.*field.member != nothing.*field.member) text += (text.empty() ? "" : ", ") + words;
    });
    return text;
}

std::string table(const std::vector<std::string>& header, std::vector<std::vector<std::string>> rows) {
    constexpr std::size_t unbounded = 1'000'000;
    std::vector<tools::Table::Column> columns;
    for (const std::string& title : header) columns.push_back({title});
    tools::Table table{std::move(columns)};
    for (auto& row : rows) table.row(std::move(row));
    std::ostringstream out;
    table.print(tools::Page{out, unbounded, false});
    return out.str();
}

std::string bar(double share, std::size_t width) {
    const double filled = std::clamp(std::isfinite(share) ? share : 0.0, 0.0, 1.0) * static_cast<double>(width);
    const auto cells = static_cast<std::size_t>(std::lround(filled));
    return "[" + std::string(cells, '#') + std::string(width - cells, '.') + "]";
}

}  // namespace hpo::tune
