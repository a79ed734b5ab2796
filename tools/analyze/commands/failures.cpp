// SPDX-License-Identifier: MIT
#include <cstdint>
#include <string>
#include <vector>

#include "analyze/commands/commands.hpp"
#include "analyze/shown/failure_groups.hpp"
#include "analyze/shown/failure_words.hpp"
#include "analyze/shown/log.hpp"
#include "analyze/shown/overview.hpp"
#include "analyze/shown/rung_table.hpp"
#include "analyze/shown/silent_page.hpp"
#include "hpo/analysis/failure_cases/history_cause.hpp"
#include "hpo/analysis/failure_totals.hpp"
#include "support/json.hpp"
#include "support/text.hpp"

namespace hpo::analyze {

using namespace hpo::tools;

namespace {

void failures(const Query& query) {
    if (asks_for_overview(query)) return print_overview(query, Overview::failures);
    const StudyData data = read_study(query);
    const auto log = read_logs(query.logs, data.trials);
    std::vector<hpo::analysis::FailureCase> cases = hpo::analysis::failure_cases(data.trials, log.told);
    hpo::analysis::explain_by_history(cases, data.trials);
    const auto silent = hpo::analysis::silent_report(cases, data.trials, data.context());
    const auto groups = failure_groups(cases);
    if (query.json) {
        Json list = Json::array();
        for (const FailureGroup& group : groups) list.push_back(group.json());
        print({{"study", data.study.name},
               {"trials", data.trials.size()},
               {"failures", std::move(list)},
               {"rungs", rung_json(rung_lines(data.trials))},
               {"without_message", silent_json(silent)},
               {"log", log_json(query.logs, log)}});
        return;
    }
    const Page page = Page::standard_output();
    const auto totals = hpo::analysis::failure_totals(data.trials, cases, silent);
    if (cases.empty()) {
        const std::string told = unmatched_text(log);
        const std::string unclear = uncertain_text(totals, "of " + counted(data.trials.size(), "trial") + ",");
        page.paragraph(!told.empty() || totals.is_uncertain()
                           ? "No failure is recorded in study " + data.study.name + ", which does not mean that there was none: " + told +
                                 (told.empty() || unclear.empty() ? "" : "; ") + unclear
                           : "No failure in study " + data.study.name + ": none in " + counted(data.trials.size(), "trial"));
    } else {
        page.heading("Failures of study " + data.study.name + ": " + std::to_string(cases.size()) + " in " +
                     counted(data.trials.size(), "trial"));
        using Align = Table::Align;
        Table table{{{"count", Align::right}, {"lost", Align::right}, {"trials", Align::right}, {"blame"}, {"failure"}}};
        for (const FailureGroup& group : groups) {
            const std::int64_t first = group.first->trial->number;
            const std::int64_t last = group.last->trial->number;
            table.row({std::to_string(group.count), duration_or_dash(group.seconds),
                       std::to_string(first) + (last == first ? "" : " to " + std::to_string(last)),
                       std::string{to_text(group.traits().blame)}, group.label});
        }
        table.print(page, 2);
        page.line();
        page.heading("What they say, where and when");
        for (const FailureGroup& group : groups) {
            const std::string line = one_line(group.line, group.first->is_oom() ? 100 : 300);  // hpo-analyze oom says more
            page.paragraph("  " + group.label + ": " + (line.empty() ? "none was kept" : line), 6);
            if (const std::string where = group.where(); !where.empty()) page.paragraph("      " + where, 6);
        }
    }
    print_rungs(page, rung_lines(data.trials));
    print_silent(page, silent, Objectives{data.study});
    print_log_match(page, query.logs, log);
}

}  // namespace

void add_failures(tools::CommandLine& line, Query& query) {
    auto* command = line.add(
        "failures", "what failed and why, and what is stored about trials without a message; of several studies, which to look at");
    add_log_option(command, query);
    line.on(command, [&query] {
        query.has_logs_alone() ? log_alone(query, Overview::failures) : failures(query);
        return 0;
    });
}

}  // namespace hpo::analyze
