// SPDX-License-Identifier: MIT
#include "hpo/analysis/oom.hpp"
#include "hpo/analysis/failure_cases/own_neighbours.hpp"
#include "hpo/base/bytes.hpp"
#include "hpo/core/memory_leak.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "analyze/commands/commands.hpp"
#include "analyze/shown/change_words.hpp"
#include "analyze/shown/failed_devices.hpp"
#include "analyze/shown/failure_words.hpp"
#include "analyze/shown/log.hpp"
#include "analyze/shown/oom_json.hpp"
#include "analyze/shown/overview.hpp"
#include "analyze/shown/rung_table.hpp"
#include "analyze/shown/silent_page.hpp"
#include "support/json.hpp"
#include "support/study_attributes.hpp"
#include "support/text.hpp"

namespace hpo::analyze {

using namespace hpo::tools;

namespace {

struct OomOptions {
    bool all_cases = false;  ///< every case with its evidence, not only a sample
};

using hpo::analysis::OomCase;
using hpo::analysis::OomReport;

/// What the cause of a report's cases means.
std::string_view cause_meaning(hpo::OomCause cause, const std::vector<OomCase>& cases) {
    switch (cause) {
        case hpo::OomCause::capacity: {
            const auto larger_ran = [](const OomCase& entry) {
                return entry.failed.failure.cause == hpo::OomCause::capacity && !entry.failed.size_decides;
            };
            return std::ranges::any_of(cases, larger_ran) ? "its own process filled the device, although trials as large ran"
                                                          : "the trial itself needs more than the device has";
        }
        case hpo::OomCause::fragmentation: return "it would fit into memory that was reserved but not in use";
        case hpo::OomCause::leak: return "its process held memory from before";
        case hpo::OomCause::neighbour: return "other processes held the memory";
        case hpo::OomCause::limit: return "a cap that the process set itself";
        case hpo::OomCause::host: return "host memory, not the device's";
        case hpo::OomCause::workspace: return "a library's temporary did not fit";
        case hpo::OomCause::unknown: return "what was stored does not show the cause";
    }
    return "";
}

std::string other_text(const std::string& name, std::size_t count) {
    const std::map<std::string, std::string> words{{"victim", "of a process that was already poisoned"},
                                                   {"prevented", "refused before launch"},
                                                   {"device_assert", "a bad index in a kernel"},
                                                   {"vanished", "their process gave no sign of life to Optuna"},
                                                   {"lost_worker", "the process is gone, or hpo ended it"},
                                                   {"not_run", "ended instead of being started"}};
    const auto found = words.find(name);
    return failure_count(name, count) + (found == words.end() ? "" : " (" + found->second + ")");
}

void print_nothing(const Page& page, const StudyData& data, const OomReport& report, const hpo::analysis::LogMatch& log) {
    std::string text = "No out-of-memory in study " + data.study.name + ": none in " + counted(report.trials, "trial");
    const std::string told = unmatched_text(log);
    if (report.is_uncertain() || !told.empty()) {
        text = "No out-of-memory is recorded in study " + data.study.name + ", which does not mean that there was none: " + told;
        if (report.is_uncertain())
            text += (told.empty() ? "" : "; ") + uncertain_text(report, "of " + counted(report.trials, "trial") + ",");
    }
    if (report.highest_peak) {
        text +=
            "; highest peak " + hpo::format_bytes(report.highest_peak->bytes) + " in trial " + std::to_string(report.highest_peak->trial);
        if (const auto share = report.peak_share()) text += ", " + percent(*share) + " of the device";
    }
    page.paragraph(text);
}

void print_causes(const Page& page, const OomReport& report) {
    page.heading("Why");
    std::vector<std::pair<hpo::OomCause, hpo::analysis::Tally>> sorted(report.causes.begin(), report.causes.end());
    std::ranges::stable_sort(sorted, std::greater{}, [](const auto& entry) { return entry.second.count; });
    using Align = Table::Align;
    Table table{{{"cause"}, {"count", Align::right}, {"lost", Align::right}, {""}}, Table::Last::wrap};
    for (const auto& [cause, tally] : sorted)
        table.row({std::string{to_text(cause)}, std::to_string(tally.count), duration_or_dash(tally.seconds),
                   std::string{cause_meaning(cause, report.cases)}});
    table.print(page, 2);
}

/// Memory that attempts left behind in their workers, which `hpo-analyze memory` tells. It may be what others lacked, whatever the figures
/// of a failure say.
void print_growth(const Page& page, const StudyData& data) {
    std::size_t attempts = 0;
    std::int64_t most = 0;
    std::int64_t after = 0;
    for (const hpo::Trial& trial : data.trials) {
        for (const hpo::Attempt& attempt : trial.attempts) {
            const auto bytes = hpo::leaked_bytes(attempt);
            if (!bytes) continue;
            ++attempts;
            if (*bytes > most) after = trial.number;
            most = std::max(most, *bytes);
        }
    }
    if (attempts == 0) return;
    page.paragraph("  After " + counted(attempts, "attempt") + " the worker still held memory of the device, the most " +
                       hpo::format_bytes(most) + " after trial " + std::to_string(after) +
                       ". The trainer keeps what it should give back, and that may be what was missing:",
                   2);
    page.line("    hpo-analyze memory --store " + shell_quoted(data.store) + " --study " + shell_quoted(data.study.name));
}

void print_others(const Page& page, const OomReport& report) {
    std::string text;
    for (const auto& [name, tally] : report.others) text += (text.empty() ? "" : ", ") + other_text(name, tally.count);
    if (!text.empty()) page.paragraph("  Not counted: " + text + ".", 2);
    if (report.unexplained_infinite > 0 && report.oom_attempts > 0) {  // else the first sentence has said it
        page.paragraph(
            "  " + counted(report.unexplained_infinite, "complete trial") + " returned a value that is not finite, without a message.", 2);
    }
}

void print_regions(const Page& page, const OomReport& report) {
    page.line();
    page.heading("Where");
    if (report.regions.empty()) page.line("  No region of the parameters stands out.");
    for (const auto& region : report.regions) {
        page.paragraph("  " + std::to_string(region.oom) + " of " + counted(region.trials, "trial") + " (" + percent(region.rate()) +
                           ") with " + describe(region.region) +
                           (region.recovered > 0 ? "; " + std::to_string(region.recovered) + " of them ran in a later attempt" : "") +
                           (region.best.empty() ? "" : "; " + std::to_string(region.best.size()) + " of the best trials ran there"),
                       6);
    }
}

/// Cases that the same change would have helped.
struct ChangeGroup {
    std::string what;
    std::optional<hpo::analysis::Change::Basis> basis;
    std::string param;  ///< of a number that is to be smaller
    double at_most = 0;
    std::set<std::int64_t> witnesses;
    std::size_t count = 0;
    std::optional<std::int64_t> least;
    std::optional<std::int64_t> most;
    bool all = false;  ///< of the device, for one at least

    [[nodiscard]] std::string text() const {
        if (!param.empty() && count > 1) return param + " at most " + hpo::display_text(at_most);
        if (!most && !all) return what;
        const std::string highest = all ? "all of it" : hpo::format_bytes(*most);
        return what + ": " + (all ? "" : "more than ") + (least && (all || *least < *most) ? hpo::format_bytes(*least) + " to " : "") +
               highest;
    }
};

/// Groups the cases of one cause. Different values of one number are one group: the smallest of them helps all.
std::vector<ChangeGroup> change_groups(const OomReport& report, hpo::OomCause cause) {
    std::vector<ChangeGroup> groups;
    for (const OomCase& entry : report.cases) {
        if (entry.failed.failure.cause.value_or(hpo::OomCause::unknown) != cause) continue;
        const auto& change = entry.change;
        const std::string what = change ? change->what : no_change_text;
        const std::string param = change ? change->param : "";
        const auto basis = change ? std::optional{change->basis} : std::nullopt;
        auto found = std::ranges::find_if(groups, [&](const ChangeGroup& group) {
            return param.empty() ? group.what == what && group.param.empty() && group.basis == basis : group.param == param;
        });
        if (found == groups.end()) {
            found =
                groups.insert(found, ChangeGroup{.what = what, .basis = basis, .param = param, .witnesses = {}, .least = {}, .most = {}});
            if (change) found->at_most = change->at_most;
        }
        if (change && change->witness) found->witnesses.insert(*change->witness);
        if (change) found->at_most = std::min(found->at_most, change->at_most);
        found->basis = std::max(found->basis, basis);  // the weakest
        ++found->count;
        const auto share = change ? change->share : std::nullopt;
        const auto bytes = share ? share->bytes : change ? change->bytes : std::nullopt;
        if (share && share->all) found->all = true;
        if (bytes) found->least = std::min(found->least.value_or(*bytes), *bytes);
        if (bytes) found->most = std::max(found->most.value_or(*bytes), *bytes);
    }
    std::ranges::stable_sort(groups, std::greater{}, &ChangeGroup::count);
    return groups;
}

/// What fewer workers would have saved, where trials of the study itself held the memory.
void print_own_neighbours(const Page& page, const StudyData& data, const OomReport& report) {
    const hpo::analysis::OwnNeighbours neighbours{data.trials};
    std::size_t by_own = 0;
    bool guessed = false;
    std::optional<double> seconds;
    for (const OomCase& entry : report.cases) {
        const auto own = neighbours.of(entry.failed);
        if (own.numbers.empty()) continue;
        ++by_own;
        guessed = own.guessed;
        hpo::analysis::add_known(seconds, entry.failed.seconds);
    }
    if (by_own == 0) return;
    const bool hpo_ran_it = std::ranges::any_of(data.trials, [](const hpo::Trial& trial) { return !trial.attempts.empty(); });
    std::string text = "  In " + std::to_string(by_own) + " of them ";
    if (guessed)
        text +=
            "other trials of this study ran at that time. They may be the processes that the messages name: the store does not show "
            "it. If they are, fewer parallel workers would have saved ";
    else if (hpo_ran_it)
        text +=
            "the neighbours were trials of this study. `hpo-tune run --guard calibrated` starts trials only when they fit beside each "
            "other; so do fewer --workers. That would have saved ";
    else text += "the neighbours were trials of this study. Fewer parallel workers on the device would have saved ";
    page.paragraph(text + duration_or_unknown(seconds) + ".", 2);
}

void print_changes(const Page& page, const StudyData& data, const OomReport& report) {
    page.line();
    page.heading("What to change");
    std::vector<std::pair<hpo::OomCause, hpo::analysis::Tally>> sorted(report.causes.begin(), report.causes.end());
    std::ranges::stable_sort(sorted, std::greater{}, [](const auto& entry) { return entry.second.count; });
    Table table{{{"cause"}, {"of", Table::Align::right}, {"change"}}, Table::Last::wrap};
    for (const auto& [cause, tally] : sorted) {
        const std::vector<ChangeGroup> groups = change_groups(report, cause);
        for (std::size_t i = 0; i < groups.size() && i < 4; ++i) {
            const ChangeGroup& group = groups[i];
            const bool told = group.basis && *group.basis != hpo::analysis::Change::Basis::figures;
            table.row({i == 0 ? std::string{to_text(cause)} : "", std::to_string(group.count) + "/" + std::to_string(tally.count),
                       group.text() + (told ? " (" + basis_text(*group.basis, group.witnesses) + ")" : "")});
        }
        if (groups.size() > 4) table.row({"", "", "and " + counted(groups.size() - 4, "other") + ": --cases"});
    }
    table.print(page, 2);
    print_own_neighbours(page, data, report);
}

/// True for places that nobody would look at first: any but the attributes that are made for messages.
bool is_unusual_place(const std::string& place) {
    static const std::set<std::string> usual{"", "attribute error_message", "attribute cuda_error_msg", "attribute oom_error",
                                             "attribute oom"};
    return !usual.contains(place);
}

void print_cases(const Page& page, const StudyData& data, const OomReport& report, bool all) {
    page.line();
    page.heading(all ? "Cases" : "Cases, one for each cause (--cases lists all)");
    std::set<hpo::OomCause> shown;
    const hpo::analysis::OwnNeighbours neighbours{data.trials};
    for (const OomCase& entry : report.cases) {
        const hpo::OomCause cause = entry.failed.failure.cause.value_or(hpo::OomCause::unknown);
        if (!all && !shown.insert(cause).second) continue;
        std::string text = "  trial " + std::to_string(entry.failed.trial->number);
        if (entry.failed.attempt) text += ", " + attempt_name(entry.failed.attempt->index);
        text += ", " + std::string{to_text(cause)};
        if (!entry.failed.failure.where.empty()) text += " in " + entry.failed.failure.where;
        text += ": " + entry.failed.failure.evidence;
        if (const auto own = neighbours.of(entry.failed); !own.numbers.empty()) {
            std::string who;
            for (const std::int64_t number : own.numbers) who += (who.empty() ? "" : ", ") + std::to_string(number);
            text += own.guessed ? " (perhaps trial" : " (trial";
            text += (own.numbers.size() == 1 ? " " : "s ") + who + " of this study)";
        }
        if (is_unusual_place(entry.failed.told_in)) text += " (" + entry.failed.told_in + ")";
        page.paragraph(text + ".", 6);
        if (all)
            page.paragraph("      fix: " + (entry.change ? entry.change->text() + " (" + basis_text(*entry.change) + ")" : no_change_text),
                           11);
    }
}

void print_prediction(const Page& page, const OomReport& report) {
    page.line();
    page.heading("Predictions");
    const auto& p = report.prediction;
    if (p.attempts > 0) {
        page.paragraph("  " + counted(p.attempts, "attempt") +
                           " with prediction and measured peak. The reserved memory, including the guard's margin, was off by " +
                           percent(p.median_relative_error.value_or(0)) + " in the median, too low in " + std::to_string(p.underestimated) +
                           " (" + percent(static_cast<double>(p.underestimated) / static_cast<double>(p.attempts)) + ").",
                       2);
    }
    if (p.oom_attempts_predicted_to_fit > 0)
        page.line("  " + counted(p.oom_attempts_predicted_to_fit, "attempt") + " ran out of memory although predicted to fit.");
    if (p.oom_attempts_alone > 0)
        page.paragraph("  " + counted(p.oom_attempts_alone, "attempt") +
                           " ran out of memory on a device that the guard had given to each alone, because nothing was known of its need.",
                       2);
    if (p.oom_attempts_without_prediction > 0)
        page.line("  " + counted(p.oom_attempts_without_prediction, "attempt") + " ran out of memory without a prediction.");
    if (p.refused_before_launch > 0) page.line("  " + std::to_string(p.refused_before_launch) + " refused before launch.");
    if (p.attempts + p.oom_attempts_predicted_to_fit + p.oom_attempts_alone + p.oom_attempts_without_prediction + p.refused_before_launch ==
        0)
        page.line("  None were made.");
}

void oom(const Query& query, const OomOptions& options) {
    if (!options.all_cases && asks_for_overview(query)) return print_overview(query, Overview::oom);
    const StudyData data = read_study_in_brief(query);
    const auto log = read_logs(query.logs, data.trials);
    const OomReport report = hpo::analysis::oom_report(data.trials, data.rejections, data.context(), log.told);
    if (query.json) {
        Json json = oom_json(data, report);
        json["log"] = log_json(query.logs, log);
        print(json);
        return;
    }
    const Page page = Page::standard_output();
    if (report.oom_attempts == 0) {
        print_nothing(page, data, report, log);
        print_others(page, report);
        print_silent(page, report.silent, Objectives{data.study});
        print_log_match(page, query.logs, log);
        if (report.prediction.attempts + report.prediction.refused_before_launch > 0) print_prediction(page, report);
        return;
    }
    page.heading("Out of memory in study " + data.study.name);
    std::string cost = "  " + std::to_string(report.oom_ended) + " of " + counted(report.ended(), "ended trial") + " (" +
                       percent(report.oom_share()) + ")";
    if (const std::size_t rest = report.oom_trials - report.oom_ended; rest > 0)
        cost += " and " + std::to_string(rest) + " that " + (rest == 1 ? "has" : "have") + " not ended";
    if (report.oom_attempts != report.oom_trials) cost += ", " + counted(report.oom_attempts, "attempt");
    if (report.caught_trials > 0)
        cost += "; " + std::to_string(report.caught_trials) + (report.caught_trials == 1 ? " is" : " are") +
                " complete all the same: the program caught it";
    if (report.recovered_trials > 0) cost += "; " + std::to_string(report.recovered_trials) + " recovered in a later attempt";
    else if (report.caught_trials == 0) cost += "; none recovered";
    cost += "; " + duration_or_unknown(report.wasted_seconds) + " lost";
    if (report.wasted_seconds && report.total_seconds > 0)
        cost += " of " + duration(report.total_seconds) + " (" + percent(*report.wasted_seconds / report.total_seconds) + ")";
    if (const std::string devices = FailedDevices{report}.text(report.capacity_bytes); !devices.empty()) cost += "; " + devices;
    page.paragraph(cost, 2);
    if (const std::string told = unmatched_text(log); !told.empty()) page.paragraph("  Not counted: " + told + ".", 2);
    print_changes(page, data, report);
    page.line();
    print_causes(page, report);
    print_growth(page, data);
    print_others(page, report);
    print_regions(page, report);
    print_cases(page, data, report, options.all_cases);
    print_rungs(page, memory_rung_lines(data.trials));
    print_silent(page, report.silent, Objectives{data.study});
    print_log_match(page, query.logs, log);
    print_prediction(page, report);
    page.line();
    // Who runs a study script can use a rule in Lua. A program that calls study.optimize needs one in Python.
    const Json options_of_trainer = json_attribute(data.study.system_attributes, trainer_options_attribute);
    const bool is_program = options_of_trainer.is_object() && options_of_trainer.value("optimize", Json(false)) == true;
    const bool rule_is_lua =
        !is_program && std::ranges::any_of(data.trials, [](const hpo::Trial& trial) { return !trial.attempts.empty(); });
    page.heading(rule_is_lua ? "Rule (Lua)" : "Rule (Python, for the program that ran the study)");
    if (report.rule_python.empty()) {
        page.paragraph("  None is needed: each of them came back with a larger share of the device.", 2);
    } else if (rule_is_lua && report.rule_lua.empty()) {
        page.paragraph(
            "  None: these trials have no batch that hpo can split. For a program, --batch-parameter NAME says which parameter is its "
            "batch.",
            2);
    }
    std::string_view rest = rule_is_lua ? report.rule_lua : report.rule_python;
    while (!rest.empty()) {
        const auto end = std::min(rest.find('\n'), rest.size());
        page.line(end == 0 ? std::string{} : "  " + std::string{rest.substr(0, end)});
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
}

}  // namespace

void add_oom(tools::CommandLine& line, Query& query) {
    auto* command = line.add(
        "oom", "why trials ran out of memory, where, what would have fitted, and the rule for it; of several studies, which to look at");
    auto options = std::make_shared<OomOptions>();
    command->add_flag("--cases", options->all_cases, "every case with its evidence");
    add_log_option(command, query);
    line.on(command, [&query, options] {
        query.has_logs_alone() ? log_alone(query, Overview::oom) : oom(query, *options);
        return 0;
    });
}

}  // namespace hpo::analyze
