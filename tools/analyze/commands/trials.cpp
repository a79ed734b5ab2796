// SPDX-License-Identifier: MIT
#include <algorithm>
#include <memory>
#include <string_view>

#include "analyze/commands/commands.hpp"
#include "analyze/shown/brief_json.hpp"
#include "analyze/shown/objectives.hpp"
#include "hpo/analysis/failure_cases/failure_name.hpp"
#include "hpo/analysis/failure_cases/history_cause.hpp"
#include "hpo/analysis/study_counts.hpp"
#include "hpo/base/bytes.hpp"
#include "hpo/base/error.hpp"
#include "support/json.hpp"
#include "support/options.hpp"
#include "support/text.hpp"

namespace hpo::analyze {

using namespace hpo::tools;

namespace {

struct TrialsOptions {
    std::string state;      ///< only trials in this state; empty: all
    std::size_t limit = 0;  ///< the last so many; 0: all
};

void trials(const Query& query, const TrialsOptions& options) {
    static const std::vector<std::string> states{"running", "complete", "pruned", "failed", "interrupted", "waiting"};
    if (!options.state.empty() && std::ranges::find(states, options.state) == states.end()) {
        throw hpo::unknown_name("--state", "state", options.state, states);
    }
    const StudyData data = read_study(query);
    // The store has a trial of a run that is gone as RUNNING until the next run.
    const auto word_of = [&](const hpo::Trial& trial) {
        return data.abandoned.contains(trial.id) ? std::string_view{"interrupted"} : hpo::analysis::state_word(trial);
    };
    const bool hpo_launched = std::ranges::any_of(data.trials, [](const hpo::Trial& trial) { return !trial.attempts.empty(); });
    std::vector<const hpo::Trial*> chosen;
    for (const hpo::Trial& trial : data.trials) {
        if (options.state.empty() || word_of(trial) == options.state) chosen.push_back(&trial);
    }
    if (options.limit > 0 && chosen.size() > options.limit)
        chosen.erase(chosen.begin(), chosen.end() - static_cast<std::ptrdiff_t>(options.limit));

    auto cases = hpo::analysis::failure_cases(data.trials);
    hpo::analysis::explain_by_history(cases, data.trials);
    std::map<const hpo::Trial*, std::string> what;
    std::map<const hpo::Trial*, hpo::FailureKind> kinds;
    for (const auto& entry : cases) {
        if (!entry.silent() && !entry.not_run()) kinds[entry.trial] = entry.failure.kind;
        what[entry.trial] = std::string{hpo::analysis::failure_name(entry)};
        if (!entry.victim && entry.failure.cause) what[entry.trial] += " (" + std::string{to_text(*entry.failure.cause)} + ")";
        if (entry.recovered) what[entry.trial] += ", recovered";
        if (entry.caught) what[entry.trial] += ", caught";
    }
    const Objectives objectives{data.study};
    if (query.json) {
        Json list = Json::array();
        for (const hpo::Trial* trial : chosen) {
            Json entry = brief_json(*trial);
            const auto found = what.find(trial);
            entry["failure"] = found == what.end() ? Json(nullptr) : Json(found->second);
            entry["failure_kind"] = kinds.contains(trial) ? Json(to_text(kinds.at(trial))) : Json(nullptr);
            list.push_back(std::move(entry));
        }
        print({{"study", data.study.name}, {"metrics", objectives.json()}, {"trials", std::move(list)}});
        return;
    }
    const Page page = Page::standard_output();
    if (chosen.empty()) {
        page.line(options.state.empty() ? "no trial yet" : "no " + options.state + " trial");
        return;
    }
    using Align = Table::Align;
    std::vector<Table::Column> columns{{"trial", Align::right}, {"state"}};
    for (Table::Column& column : objectives.columns()) columns.push_back(std::move(column));
    for (const Table::Column& column :
         std::vector<Table::Column>{{"time", Align::right}, {"peak", Align::right}, {"failure"}, {"parameters"}})
        columns.push_back(column);
    Table table{std::move(columns)};
    for (const hpo::Trial* trial : chosen) {
        const auto seconds = hpo::analysis::detail::trial_seconds(*trial);
        const auto peak = hpo::analysis::peak_of(*trial);
        const auto found = what.find(trial);
        std::vector<std::string> row{std::to_string(trial->number),
                                     std::string{word_of(*trial)} + (trial->feasible() ? "" : ", infeasible")};
        for (std::string& cell : objectives.cells(*trial)) row.push_back(std::move(cell));
        row.push_back(duration_or_dash(seconds));
        row.push_back(peak ? hpo::format_bytes(*peak) : "-");
        const bool has_begun = !trial->attempts.empty() || !hpo_launched || word_of(*trial) != "interrupted";
        row.push_back(found != what.end() ? found->second : has_begun ? "" : "no attempt began");
        row.push_back(params_text(*trial));
        table.row(std::move(row));
    }
    table.print(page);
}

}  // namespace

void add_trials(tools::CommandLine& line, Query& query) {
    auto* command = line.add("trials", "one line for each trial");
    auto options = std::make_shared<TrialsOptions>();
    command->add_option("--state", options->state, "only these: complete, pruned, failed, interrupted, running, waiting");
    command->add_option("--last", options->limit, "only the last N; 0: all")->check(tools::at_least(0));
    line.on(command, [&query, options] {
        trials(query, *options);
        return 0;
    });
}

}  // namespace hpo::analyze
