// SPDX-License-Identifier: MIT
#include "hpo/analysis/best.hpp"

#include "brief_json.hpp"
#include "commands.hpp"
#include "hpo/analysis/failure_case.hpp"
#include "support/json.hpp"
#include "support/text.hpp"

namespace hpo_analyze {

using namespace hpo::tools;

void best(const Query& query, const BestOptions& options) {
    const StudyData data = read_study(query);
    const auto winners = hpo::analysis::best_trials(data.trials, data.study.directions, options.top);
    if (query.json) {
        Json list = Json::array();
        for (const hpo::Trial* trial : winners) list.push_back(brief_json(*trial));
        print({{"study", data.study.name}, {"best", std::move(list)}});
        return;
    }
    const Page page = Page::standard_output();
    if (winners.empty()) {
        page.line("no complete and feasible trial in study " + data.study.name + " (" + counted(data.trials.size(), "trial") + ")");
        return;
    }
    if (winners.size() > 1) {
        if (data.study.directions.size() > 1)
            page.heading(counted(winners.size(), "trial") + " on the Pareto front of study " + data.study.name);
        Table table{
            {{"trial", Table::Align::right}, {data.study.directions.size() > 1 ? "values" : "value", Table::Align::right}, {"parameters"}}};
        for (const hpo::Trial* trial : winners) table.row({std::to_string(trial->number), values_text(*trial), params_text(trial->params)});
        table.print(page);
        return;
    }
    const hpo::Trial& winner = *winners.front();
    page.heading("Trial " + std::to_string(winner.number) + " of study " + data.study.name + ": " + values_text(winner));
    Table table{{{""}, {""}}};
    for (const hpo::Param& param : winner.params) table.row({param.name, hpo::display_text(param.value())});
    if (const auto peak = hpo::analysis::peak_of(winner)) table.row({"(peak memory)", hpo::format_bytes(*peak)});
    if (!winner.attempts.empty() && winner.attempts.back().plan.effective_micro_batch()) {
        const hpo::ExecutionPlan& plan = winner.attempts.back().plan;
        table.row({"(ran with)", "micro-batch " + std::to_string(*plan.effective_micro_batch()) + ", accumulated over " +
                                     counted(static_cast<std::size_t>(plan.accumulation_steps()), "step")});
    }
    table.print(page, 2);
}

}  // namespace hpo_analyze
