// SPDX-License-Identifier: MIT
#include "hpo/analysis/summary.hpp"
#include "hpo/base/bytes.hpp"

#include "analyze/commands/commands.hpp"
#include "analyze/shown/brief_json.hpp"
#include "analyze/shown/failure_words.hpp"
#include "analyze/shown/log.hpp"
#include "analyze/shown/objectives.hpp"
#include "analyze/shown/silent_page.hpp"
#include "support/counts_text.hpp"
#include "support/json.hpp"
#include "support/text.hpp"

namespace hpo::analyze {

using namespace hpo::tools;

namespace {

Json summary_json(const StudyData& data, const hpo::analysis::Summary& summary) {
    const hpo::analysis::FailureTotals& memory = summary.totals;
    const Json states{{"RUNNING", memory.running},
                      {"COMPLETE", memory.complete},
                      {"PRUNED", memory.pruned},
                      {"FAIL", memory.failed + memory.interrupted},  // as Optuna sees them
                      {"WAITING", memory.waiting}};
    Json best = Json::array();
    for (const hpo::Trial* trial : summary.best) {
        best.push_back(brief_json(hpo::analysis::with_mean(data.trials, *trial)));
        best.back()["ran_out_of_memory"] = summary.doubtful.contains(trial);
    }
    Json without = Json::array();
    for (const hpo::Trial* trial : summary.best_without) without.push_back(brief_json(*trial));
    Json directions = Json::array();
    for (const hpo::Direction direction : data.study.directions) directions.push_back(to_text(direction));
    Json failures = Json::object();
    for (const auto& [name, tally] : memory.others) failures[name] = tally.count;
    return {{"study", data.study.name},
            {"directions", std::move(directions)},
            {"metrics", Objectives{data.study}.json()},
            {"trials", memory.trials},
            {"states", states},
            {"interrupted", memory.interrupted},
            {"infeasible", memory.infeasible},
            {"rejections", summary.rejections},
            {"best", std::move(best)},
            {"best_without_out_of_memory", summary.best_without.empty() ? Json(nullptr) : std::move(without)},
            {"first_start", time_or_null(summary.first_start)},
            {"last_end", time_or_null(summary.last_end)},
            {"wall_seconds", or_null(summary.wall_seconds())},
            {"trial_seconds", summary.timed_trials > 0 || memory.trials == 0 ? Json(summary.trial_seconds) : Json(nullptr)},
            {"oom_trials", memory.oom_trials},
            {"oom_attempts", memory.oom_attempts},
            {"silent_failures", memory.silent_failures},
            {"idle_seconds", or_null(memory.idle_seconds)},
            {"uncertain", memory.is_uncertain()},
            {"recovered_trials", memory.recovered_trials},
            {"wasted_seconds", or_null(memory.wasted_seconds)},
            {"capacity_bytes", or_null(memory.capacity_bytes)},
            {"highest_peak_bytes", memory.highest_peak ? Json(memory.highest_peak->bytes) : Json(nullptr)},
            {"failures", std::move(failures)}};
}

/// The command that has most to say of the study; empty if there is nothing to look at yet.
std::string_view next_command(const hpo::analysis::Summary& summary) {
    std::size_t others = 0;
    for (const auto& [name, tally] : summary.totals.others) others += tally.count;
    if (summary.rule_errors > 0) return "failures";
    if (summary.totals.oom_attempts > 0 && summary.totals.oom_attempts >= others) return "oom";
    if (others > 0 || summary.totals.is_uncertain()) return "failures";
    return summary.best.empty() ? "" : "best";
}

/// The counts with the trials of a run that is gone as interrupted, although the store has them as RUNNING until the next run.
hpo::analysis::StudyCounts as_they_are(const hpo::analysis::FailureTotals& totals) {
    hpo::analysis::StudyCounts counts = totals;
    counts.running -= totals.abandoned_running;
    counts.interrupted += totals.abandoned_running;
    return counts;
}

void print_text(const Page& page, const StudyData& data, const hpo::analysis::Summary& summary, const hpo::analysis::LogMatch& log,
                const std::vector<std::string>& paths) {
    const hpo::analysis::FailureTotals& memory = summary.totals;
    const Objectives objectives{data.study};
    page.heading("Study " + data.study.name + " (" + objectives.text() + ") in " + data.store);
    const auto entry = [&](std::string_view name, const std::string& text) {
        std::string label = "  " + std::string{name};
        label.resize(12, ' ');
        page.paragraph(label + text, 12);
    };
    entry("trials", std::to_string(memory.trials) + (memory.trials > 0 ? ": " + states_text(as_they_are(memory)) : ""));
    if (summary.rule_errors > 0)
        entry("script", counted(summary.rule_errors, "trial") + " ended because a rule of the script failed, the latest: " +
                            one_line(*summary.latest_rule_error, 300) + " (hpo-analyze failures)");
    if (summary.rejections > 0) entry("", counted(summary.rejections, "proposal") + " refused before launch");
    if (data.study.directions.size() > 1) {
        const auto doubtful = static_cast<std::size_t>(
            std::ranges::count_if(summary.best, [&](const hpo::Trial* trial) { return summary.doubtful.contains(trial); }));
        entry("best",
              summary.best.empty()
                  ? "no trial yet"
                  : counted(summary.best.size(), "trial") + " on the Pareto front" +
                        (doubtful == 0 ? "" : ", " + std::to_string(doubtful) + " of which ran out of memory by their own message") +
                        " (hpo-analyze best)");
    } else if (summary.best.empty()) {
        const bool all_infinite = hpo::analysis::has_only_infinite_values(data.trials);
        entry("best", all_infinite ? "none: no complete trial has a finite value" : "no complete and feasible trial yet");
    } else {
        const hpo::Trial& best = *summary.best.front();
        const std::string params = params_text(best);
        entry("best", "trial " + std::to_string(best.number) + ": " + objectives.values_text(hpo::analysis::with_mean(data.trials, best)) +
                          (params.empty() ? "" : " with " + params) +
                          (summary.doubtful.contains(&best) ? std::string{"; "} + doubtful_value_text : ""));
        if (!summary.best_without.empty()) {
            const hpo::Trial& other = *summary.best_without.front();
            const std::string with = params_text(other);
            entry("", "without such trials it is trial " + std::to_string(other.number) + ": " + objectives.values_text(other) +
                          (with.empty() ? "" : " with " + with));
        }
    }
    if (summary.first_start) {
        std::string text = clock_time(*summary.first_start);
        if (summary.last_end) text += " to " + clock_time(*summary.last_end);
        entry("time", text);
    }
    if (summary.timed_trials > 0) {
        const double mean = summary.trial_seconds / static_cast<double>(summary.timed_trials);
        std::string text = duration(summary.trial_seconds) + " of trials, " + duration(mean) + " each";
        if (const auto wall = summary.wall_seconds(); wall && *wall > 0) text += ", in " + duration(*wall);
        entry("", text);
    }
    if (memory.oom_trials > 0) {
        std::string causes;
        for (const auto& [cause, tally] : memory.causes)
            causes += (causes.empty() ? "" : ", ") + std::to_string(tally.count) + " " + std::string{to_text(cause)};
        const std::string recovered = memory.recovered_trials == 0 && memory.caught_trials > 0
                                          ? std::to_string(memory.caught_trials) + " of them complete all the same"
                                          : std::to_string(memory.recovered_trials) + " of them recovered";
        entry("memory", counted(memory.oom_trials, "trial") + " ran out of memory, " + recovered + ": " + causes + "; " +
                            duration_or_unknown(memory.wasted_seconds) + " lost (hpo-analyze oom)");
    } else {
        const std::string unclear = uncertain_text(memory, "of the trials");
        const std::string told = unmatched_text(log);
        entry("memory", unclear.empty() && told.empty()
                            ? "no trial ran out of memory"
                            : "no out-of-memory is recorded; " + told + (told.empty() || unclear.empty() ? "" : "; ") + unclear);
    }
    if (memory.highest_peak) {
        std::string text =
            "highest peak " + hpo::format_bytes(memory.highest_peak->bytes) + " in trial " + std::to_string(memory.highest_peak->trial);
        if (const auto share = memory.peak_share()) text += ", " + percent(*share) + " of the device";
        entry("", text);
    }
    std::string failures;
    for (const auto& [name, tally] : memory.others) failures += (failures.empty() ? "" : ", ") + failure_count(name, tally.count);
    if (!failures.empty()) entry("failures", failures);
    if (memory.idle_seconds)
        entry("idle", duration(*memory.idle_seconds) + ", in which nothing ran after " + counted(memory.vanished_running, "trial") +
                          (memory.vanished_running == 1 ? " whose process is probably gone" : " whose processes are probably gone"));
    if (summary.silent.region) entry("suspected", region_text(*summary.silent.region, failed_words));
    if (summary.silent.pruned_region) entry("suspected", region_text(*summary.silent.pruned_region, pruned_words));
    if (!summary.silent.empty()) entry("", "what is stored about trials without a message: hpo-analyze failures");
    if (const std::string_view next = next_command(summary); !next.empty())
        page.line("  next      hpo-analyze " + std::string{next} + " --store " + shell_quoted(data.store) + " --study " +
                  shell_quoted(data.study.name) + log_words(paths));  // whole, to be copied
}

/// Counts the study, and adds the parameters that are to be shown.
hpo::analysis::Summary summarised(StudyData& data, const hpo::analysis::LogMatch& log) {
    add_params_if_needed(data);
    hpo::analysis::Summary summary = hpo::analysis::summarise(data.study, data.trials, data.rejections, log.told, data.context());
    constexpr std::size_t few = 100;
    if (!data.lacks_params) return summary;
    if (summary.best.size() > few) {
        add_params(data, data.trials);
    } else {
        for (const auto* list : {&summary.best, &summary.best_without}) {
            for (const hpo::Trial* best : *list) add_params(data, {&data.trials[static_cast<std::size_t>(best - data.trials.data())], 1});
        }
    }
    return summary;
}

void summary(const Query& query) {
    std::vector<StudyData> all = read_studies_in_brief(query);
    if (query.json && (!query.study.empty() || all.size() == 1)) {
        const auto log = read_logs(query.logs, all.front().trials);
        Json json = summary_json(all.front(), summarised(all.front(), log));
        json["log"] = log_json(query.logs, log);
        print(json);
        return;
    }
    Json list = Json::array();
    const Page page = Page::standard_output();
    if (all.empty() && !query.json) page.line("no study in " + query.store);
    bool first = true;
    const std::vector<hpo::analysis::ProgramLog> read = read_logs(query.logs, names_of(all));
    std::vector<hpo::analysis::LogMatch> logs;
    for (StudyData& data : all) {
        const auto& log = logs.emplace_back(match_logs(read, data.trials));
        const auto numbers = summarised(data, log);
        if (query.json) {
            list.push_back(summary_json(data, numbers));
            list.back()["log"] = log_json(query.logs, log);
            continue;
        }
        if (!first) page.line();
        first = false;
        print_text(page, data, numbers, log, query.logs);
        if (all.size() == 1) print_log_match(page, query.logs, log);
    }
    if (query.json) return print(list);
    if (all.size() > 1) print_log_totals(page, query.logs, logs);
}

}  // namespace

void add_summary(tools::CommandLine& line, Query& query) {
    auto* command = line.add("summary", "states, best value, time and failures of a study, or of every study");
    add_log_option(command, query);
    line.on(command, [&query] {
        query.has_logs_alone() ? log_alone(query, Overview::failures) : summary(query);
        return 0;
    });
}

}  // namespace hpo::analyze
