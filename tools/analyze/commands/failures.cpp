// SPDX-License-Identifier: MIT
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyze/commands/commands.hpp"
#include "analyze/shown/failure_words.hpp"
#include "analyze/shown/log.hpp"
#include "analyze/shown/overview.hpp"
#include "analyze/shown/rung_table.hpp"
#include "analyze/shown/silent_page.hpp"
#include "hpo/analysis/cases/failure_name.hpp"
#include "hpo/analysis/cases/history_cause.hpp"
#include "hpo/analysis/failure_totals.hpp"
#include "hpo/failure/failure_line.hpp"
#include "hpo/failure/signature.hpp"
#include "hpo/failure/traits.hpp"
#include "support/json.hpp"
#include "support/text.hpp"

namespace hpo_analyze {

using namespace hpo::tools;

namespace {

/// Of a trial that was not run again nobody knows what ended it.
hpo::FailureTraits traits_of_case(const hpo::analysis::FailureCase& entry) {
    return entry.not_run() ? hpo::FailureTraits{} : hpo::traits_of(entry.failure);
}

using hpo::analysis::FailureCase;

/// Failures of one signature; of memory that ran out, those of one cause.
struct FailureGroup {
    std::string name;
    std::string line;  ///< the line of its first message that tells
    std::size_t count = 0;
    std::optional<double> seconds;  ///< of those whose time is known
    const FailureCase* first = nullptr;
    const FailureCase* last = nullptr;
};

std::string kind_name(const FailureCase& entry) {
    if (!entry.is_oom()) return std::string{hpo::analysis::failure_name(entry)};
    return std::string{to_text(entry.failure.kind)} + (entry.failure.cause ? " (" + std::string{to_text(*entry.failure.cause)} + ")" : "");
}

std::vector<FailureGroup> grouped(const std::vector<FailureCase>& cases) {
    std::map<std::pair<std::string, std::string>, FailureGroup> groups;
    for (const FailureCase& entry : cases) {
        const std::string name = kind_name(entry);
        std::string line = failure_line(entry.failure);
        const std::string key = entry.is_oom() ? std::string{} : hpo::signature(entry.failure);
        FailureGroup& group = groups[{name, key}];
        if (group.count++ == 0) {
            group.name = name;
            group.first = &entry;
            group.line = std::move(line);
        }
        group.last = &entry;
        hpo::analysis::add_known(group.seconds, entry.seconds);
    }
    std::vector<FailureGroup> sorted;
    for (auto& [key, group] : groups) sorted.push_back(std::move(group));
    std::ranges::stable_sort(sorted, std::greater{}, &FailureGroup::count);
    return sorted;
}

}  // namespace

void failures(const Query& query) {
    if (asks_for_overview(query)) return print_overview(query, Overview::failures);
    const StudyData data = read_study(query);
    const auto log = read_logs(query.logs, data.trials);
    std::vector<FailureCase> cases = hpo::analysis::failure_cases(data.trials, log.told);
    hpo::analysis::explain_by_history(cases, data.trials);
    const auto silent = hpo::analysis::silent_report(cases, data.trials, data.context());
    const auto groups = grouped(cases);
    if (query.json) {
        Json list = Json::array();
        for (const FailureGroup& group : groups) {
            list.push_back({{"failure", group.name},
                            {"count", group.count},
                            {"seconds", or_null(group.seconds)},
                            {"first_trial", group.first->trial->number},
                            {"last_trial", group.last->trial->number},
                            {"blame", std::string{to_text(traits_of_case(*group.first).blame)}},
                            {"recurrence", std::string{to_text(traits_of_case(*group.first).recurrence)}},
                            {"signature", hpo::signature(group.first->failure)},
                            {"message", text_or_null(group.first->failure.message)},
                            {"line", text_or_null(group.line)},
                            {"told_in", text_or_null(group.first->told_in)}});
        }
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
                       std::string{to_text(traits_of_case(*group.first).blame)}, group.name});
        }
        table.print(page, 2);
        page.heading("What they say");
        for (const FailureGroup& group : groups) {
            const std::string line = one_line(group.line, group.first->is_oom() ? 100 : 300);  // hpo-analyze oom says more
            page.paragraph("  " + group.name + ": " + (line.empty() ? "none was kept" : line), 6);
        }
    }
    print_rungs(page, rung_lines(data.trials));
    print_silent(page, silent, Objectives{data.study});
    print_log_match(page, query.logs, log);
}

}  // namespace hpo_analyze
