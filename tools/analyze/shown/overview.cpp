// SPDX-License-Identifier: MIT
#include "analyze/shown/overview.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analyze/shown/failure_words.hpp"
#include "analyze/shown/log.hpp"
#include "hpo/analysis/summary.hpp"
#include "hpo/base/error.hpp"
#include "support/json.hpp"
#include "support/text.hpp"

namespace hpo::analyze {

using namespace hpo::tools;

namespace {

struct StudyLine {
    std::string study;
    hpo::analysis::FailureTotals totals;

    [[nodiscard]] std::size_t count(Overview of) const { return of == Overview::oom ? totals.oom_attempts : failure_count(totals); }
    [[nodiscard]] double lost(Overview of) const {
        return (of == Overview::oom ? totals.wasted_seconds : lost_seconds(totals)).value_or(0);
    }
    /// How many trials or attempts may be further ones of this kind. What failed without a message is a failure, and may be an
    /// out-of-memory.
    [[nodiscard]] std::size_t possible(Overview of) const {
        const std::size_t unclear = totals.unexplained_infinite + totals.penalised + totals.vanished_running + totals.open_running +
                                    totals.abandoned_running + totals.unreported_prunes;
        return of == Overview::failures ? unclear : unclear + totals.silent_failures + totals.unexplained_nan + totals.killed_attempts;
    }
};

/// What is most worth a look comes first: most failures of this kind, then most time lost, then most that may be of this kind, too.
std::vector<StudyLine> study_lines(const Query& query, Overview of, std::vector<hpo::analysis::LogMatch>& logs) {
    std::vector<StudyLine> lines;
    std::vector<StudyData> studies = read_studies_in_brief(query);
    const std::vector<hpo::analysis::ProgramLog> read = read_logs(query.logs, names_of(studies));
    for (StudyData& data : studies) {
        add_params_if_needed(data);
        logs.push_back(match_logs(read, data.trials));
        lines.push_back(
            {data.study.name, hpo::analysis::summarise(data.study, data.trials, data.rejections, logs.back().told, data.context()).totals});
    }
    std::ranges::stable_sort(lines, std::greater{}, [of](const StudyLine& line) {
        return std::tuple{line.count(of), line.lost(of), line.possible(of)};
    });
    return lines;
}

/// True if the first line has something to look at.
bool has_something(const StudyLine& line, Overview of) { return line.count(of) + line.possible(of) > 0; }

Json overview_json(const Query& query, const std::vector<StudyLine>& lines, Overview of) {
    Json studies = Json::array();
    for (const StudyLine& line : lines) {
        studies.push_back({{"study", line.study},
                           {"trials", line.totals.trials},
                           {"failures", failure_count(line.totals)},
                           {"lost_seconds", or_null(lost_seconds(line.totals))},
                           {"oom_attempts", line.totals.oom_attempts},
                           {"oom_trials", line.totals.oom_trials},
                           {"recovered_trials", line.totals.recovered_trials},
                           {"wasted_seconds", or_null(line.totals.wasted_seconds)},
                           {"silent_failures", line.totals.silent_failures},
                           {"uncertain", line.totals.is_uncertain()}});
    }
    return {{"store", query.store},
            {"studies", std::move(studies)},
            {"look_first", has_something(lines.front(), of) ? Json(lines.front().study) : Json(nullptr)}};
}

std::string headline(const Query& query, const std::vector<StudyLine>& lines, Overview of) {
    std::size_t count = 0;
    std::size_t trials = 0;
    std::ptrdiff_t studies = 0;
    for (const StudyLine& line : lines) {
        count += line.count(of);
        trials += line.totals.trials;
        if (line.count(of) > 0) ++studies;
    }
    const bool certain = std::ranges::none_of(lines, [of](const StudyLine& line) { return line.possible(of) > 0; });
    const std::string where = " in the " + std::to_string(lines.size()) + " studies of " + query.store + ": ";
    const std::string what = of == Overview::oom ? "out-of-memory" : "failure";
    if (count == 0) return "No " + what + (certain ? "" : " is recorded") + where + "none in " + counted(trials, "trial");
    return (of == Overview::oom ? "Out of memory" + where + counted(count, "attempt") : "Failures" + where + std::to_string(count)) +
           ", in " + std::to_string(studies) + " of them";
}

void print_lines(const Page& page, const std::vector<StudyLine>& lines) {
    using Align = Table::Align;
    Table table{{{"study"},
                 {"trials", Align::right},
                 {"failures", Align::right},
                 {"lost", Align::right},
                 {"of memory", Align::right},
                 {"lost", Align::right}}};
    for (const StudyLine& line : lines) {
        table.row({line.study, std::to_string(line.totals.trials), std::to_string(failure_count(line.totals)),
                   duration_or_dash(lost_seconds(line.totals)), std::to_string(line.totals.oom_attempts),
                   duration_or_dash(line.totals.wasted_seconds)});
    }
    table.print(page, 2);
}

}  // namespace

bool asks_for_overview(const Query& query) { return query.study.empty() && known_studies(query).size() > 1; }

void print_overview(const Query& query, Overview of) {
    std::vector<hpo::analysis::LogMatch> logs;
    const std::vector<StudyLine> lines = study_lines(query, of, logs);
    if (query.json) return print(overview_json(query, lines, of));
    const Page page = Page::standard_output();
    page.heading(headline(query, lines, of));
    print_lines(page, lines);
    std::vector<std::string> uncertain;
    for (const StudyLine& line : lines) {
        if (line.possible(of) > 0) uncertain.push_back(line.study);
    }
    if (!uncertain.empty()) {
        page.paragraph("  More may have " + std::string{of == Overview::oom ? "run out of memory" : "failed"} + " in " +
                           hpo::join_names(uncertain) + ": what some trials left gives no reason for how they ended.",
                       2);
    }
    print_log_totals(page, query.logs, logs);
    if (lines.empty() || !has_something(lines.front(), of)) return;
    const std::string command = std::string{"hpo-analyze "} + (of == Overview::oom ? "oom" : "failures") + " --store " +
                                shell_quoted(query.store) + " --study " + shell_quoted(lines.front().study) + log_words(query.logs);
    const bool most = lines.size() < 2 || lines.front().count(of) > lines[1].count(of);
    const std::string first = "  Look first at " + lines.front().study + (most ? ", which has most:" : ":");
    if (columns(first + command) < page.width()) return page.line(first + " " + command);
    page.line(first);
    page.line("    " + command);
}

}  // namespace hpo::analyze
