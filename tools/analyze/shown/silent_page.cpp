// SPDX-License-Identifier: MIT
#include "analyze/shown/silent_page.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "hpo/analysis/failure_totals.hpp"

namespace hpo::analyze {

using namespace hpo::tools;
using hpo::analysis::Pace;
using hpo::analysis::SilentFailure;
using hpo::analysis::SilentPattern;
using hpo::analysis::SilentReport;
using hpo::analysis::StaleTrial;
using hpo::analysis::SuspiciousValues;
using hpo::analysis::UnreportedPrune;

namespace {

/// Less than this after a failure the program has gone on by itself; more than the other, somebody or something began it again.
constexpr double went_on_seconds = 5;
constexpr double began_again_seconds = 60;

std::string pace_text(const Pace& pace) {
    if (pace.trials == 0) return "no trial is complete";
    const std::string most = duration(pace.most_seconds);
    return "complete trials take " + (pace.trials == 1 ? most : duration(pace.least_seconds) + " to " + most);
}

std::string range_text(const std::vector<const SilentFailure*>& entries) {
    std::optional<double> least;
    std::optional<double> most;
    for (const SilentFailure* entry : entries) {
        if (!entry->seconds) continue;
        least = std::min(least.value_or(*entry->seconds), *entry->seconds);
        most = std::max(most.value_or(*entry->seconds), *entry->seconds);
    }
    if (!least) return "a time that is not known";
    const std::string high = duration(*most);
    return duration(*least) == high ? high : duration(*least) + " to " + high;
}

std::string numbers_text(const std::vector<std::int64_t>& numbers, std::size_t most = 8) {
    std::string text = numbers.size() == 1 ? "trial " : "trials ";
    std::size_t shown = 0;
    for (std::size_t i = 0; i < numbers.size() && shown < most; ++shown) {
        std::size_t end = i + 1;
        while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
        if (shown > 0) text += ", ";
        text += std::to_string(numbers[i]);
        if (end - i > 2) text += " to " + std::to_string(numbers[end - 1]);
        else end = i + 1;
        i = end;
        if (shown + 1 == most && i < numbers.size()) text += " and " + counted(numbers.size() - i, "other");
    }
    return text;
}

/// What a pattern suggests. If a pair of numbers explains the failures, memory is not suspected.
std::string_view suspicion(SilentPattern pattern, const SilentReport& report) {
    if (report.indivisible && (pattern == SilentPattern::at_once || pattern == SilentPattern::between))
        return "an error of shapes, since a number does not divide another";
    switch (pattern) {
        case SilentPattern::vanished: return "the process was killed or died";
        case SilentPattern::last_report: return "a returned NaN, which Optuna counts as failed, or an error because of it";
        case SilentPattern::time_limit: return "a limit of time";
        case SilentPattern::in_a_row: return "a broken program, or a process that an earlier error has spoilt";
        case SilentPattern::together: return "the process or the machine died, or all were given up at once";
        case SilentPattern::before_params: return "a mistake in the program";
        case SilentPattern::at_once: return "a mistake in the program, or an error in the first steps, such as an out-of-memory";
        case SilentPattern::as_long: return "a value of NaN or None, or an error at the end";
        case SilentPattern::longer: return "a hang, a limit of time, or an error at the end";
        case SilentPattern::between: return "an error on the way, an out-of-memory as well as any other, or an interruption";
        case SilentPattern::untimed: return "";
    }
    return "";
}

/// What the rows of a group show; the same words serve for one trial.
std::string fact_text(SilentPattern pattern, const std::vector<const SilentFailure*>& entries, const Pace& pace) {
    const std::string range = range_text(entries);
    switch (pattern) {
        case SilentPattern::vanished: return "gave no sign of life any more, so that Optuna began another trial instead";
        case SilentPattern::last_report: return "reported NaN or infinity last, after " + range;
        case SilentPattern::time_limit: return "ended after the same time, " + range + " (" + pace_text(pace) + ")";
        case SilentPattern::in_a_row: {
            std::set<std::size_t> runs;
            for (const SilentFailure* entry : entries) runs.insert(entry->run);
            return "ended at once, after " + range + ", in a row of " + std::to_string(*runs.rbegin()) + " that all did, whatever " +
                   (entries.size() == 1 ? "its" : "their") + " parameters (" + pace_text(pace) + ")";
        }
        case SilentPattern::together: return "became FAIL in the same second as others that ran beside it, after " + range;
        case SilentPattern::before_params:
        case SilentPattern::at_once: {
            const auto early = std::ranges::count_if(entries, [](const SilentFailure* entry) { return entry->before_any_complete; });
            const bool before_params = pattern == SilentPattern::before_params;
            std::string text = "ended after " + range + (before_params ? ", before a parameter or a report" : ", before a report") + " (" +
                               pace_text(pace) + ")";
            if (early > 0 && entries.size() == 1) text += ", and before any trial was complete";
            else if (early > 0) text += ", " + std::to_string(early) + " of them before any trial was complete";
            return text;
        }
        case SilentPattern::as_long:
            if (pace.last_step &&
                std::ranges::all_of(entries, [](const SilentFailure* entry) { return !entry->trial->intermediate.empty(); }))
                return "reported as far as complete trials do, after " + range + " (" + pace_text(pace) + ")";
            return "ran for " + range + ", as long as complete trials do (" + pace_text(pace) + ")";
        case SilentPattern::longer: return "ran for " + range + ", longer than any complete trial (" + pace_text(pace) + ")";
        case SilentPattern::between: {
            const bool none = std::ranges::all_of(entries, [](const SilentFailure* entry) { return entry->trial->intermediate.empty(); });
            return "ended after " + range + ", on the way" + (none && pace.last_step ? " and before a report (" : " (") + pace_text(pace) +
                   ")";
        }
        case SilentPattern::untimed:
            return pace.trials == 0 ? "ended after " + range + ", with no complete trial to hold that against" : "left no times";
    }
    return "";
}

/// Whether what came next says anything: a trial whose process died is followed by another process's.
bool program_may_go_on(const SilentFailure& entry) {
    return entry.pattern != SilentPattern::vanished && entry.pattern != SilentPattern::together;
}

/// What came after the failures of a study, where that can be told.
std::string after_text(const std::vector<SilentFailure>& failures) {
    std::size_t went_on = 0;
    std::size_t began_again = 0;
    double longest_on = 0;
    double least_again = HUGE_VAL;
    for (const SilentFailure& entry : failures) {
        if (!entry.next_after || !program_may_go_on(entry)) continue;
        if (*entry.next_after <= went_on_seconds) {
            ++went_on;
            longest_on = std::max(longest_on, *entry.next_after);
        } else if (*entry.next_after > began_again_seconds) {
            ++began_again;
            least_again = std::min(least_again, *entry.next_after);
        }
    }
    std::string text;
    if (went_on > 0) {
        text = "After " + std::to_string(went_on) + " of them the next trial began within " + duration(std::max(longest_on, 0.001)) +
               ": the program went on, as it does after a caught exception or a NaN.";
    }
    if (began_again > 0) {
        text += std::string{text.empty() ? "" : " "} + "After " + std::to_string(began_again) + " of them the next trial began " +
                duration(least_again) + (began_again > 1 ? " later or more" : " later") + ": the program is suspected to have ended, too.";
    }
    return text;
}

/// "once in 400 times", "once in 70,000 times", "once in 3 million times".
std::string chance_text(double probability) {
    if (probability < 1e-12) return "less than once in a trillion times";
    double times = 1 / probability;
    if (times >= 1e4) {  // one digit is enough
        const double step = std::pow(10, std::floor(std::log10(times)));
        times = std::round(times / step) * step;
    }
    std::string_view unit;
    for (const auto& [size, name] : {std::pair{1e9, " billion"}, std::pair{1e6, " million"}}) {
        if (times < size || !unit.empty()) continue;
        times /= size;
        unit = name;
    }
    std::string digits = std::to_string(std::llround(times));
    if (digits.size() > 4) {
        for (std::size_t at = digits.size() - 3; at > 0 && at < digits.size(); at -= 3) digits.insert(at, ",");
    }
    return "once in " + digits + std::string{unit} + " times";
}

constexpr const char* no_pruner_text = "No pruner judges a trial that reports nothing: the program gave it up";

/// "is RUNNING, for 4 h by the study's last entry, while 14 trials that began later ended".
std::string stale_text(const StaleTrial& entry) {
    const std::string idle = entry.idle_seconds ? "; no other trial ran for " + duration(*entry.idle_seconds) + " of it" : "";
    if (entry.ended_meanwhile == 0) return "is RUNNING, for " + duration(entry.seconds) + ", and nothing was stored after it began";
    return "is RUNNING, for " + duration(entry.seconds) + " by the study's last entry, while " + counted(entry.ended_meanwhile, "trial") +
           " that began later ended" + idle;
}

/// "is RUNNING since 2026-01-31 12:00:00 UTC, and nothing was stored after it began; it may still run, or its process is gone".
std::string open_text(const hpo::Trial& trial) {
    return "is RUNNING" + (trial.started ? " since " + clock_time(*trial.started) : std::string{}) +
           ". It may still run, or its process is gone: the store does not show which";
}

std::string abandoned_text(const std::vector<const hpo::Trial*>& abandoned) {
    std::vector<std::int64_t> numbers;
    for (const hpo::Trial* trial : abandoned) numbers.push_back(trial->number);
    const bool one = numbers.size() == 1;
    return counted(numbers.size(), "trial") +
           (one ? " is RUNNING although its run is gone. The next run of the study ends it. T"
                : " are RUNNING although their run is gone. The next run of the study ends them. T") +
           numbers_text(numbers).substr(1) + ".";
}

std::string pruned_text(const std::vector<UnreportedPrune>& pruned) {
    std::string text = counted(pruned.size(), "trial") + (pruned.size() == 1 ? " was" : " were") + " pruned before a report";
    const auto longer = static_cast<std::size_t>(
        std::ranges::count_if(pruned, [](const UnreportedPrune& entry) { return entry.neighbour_seconds.has_value(); }));
    if (longer > 0) {
        const auto& longest = *std::ranges::max_element(
            pruned, {}, [](const UnreportedPrune& entry) { return entry.neighbour_seconds ? entry.seconds.value_or(0) : -1; });
        text += longer == pruned.size() ? "" : ", " + std::to_string(longer) + " of them";
        text += " after longer than the neighbours (trial " + std::to_string(longest.trial->number) + ": " + duration(*longest.seconds) +
                " against " + duration(*longest.neighbour_seconds) + ")";
    }
    return text + ". " + no_pruner_text + ". Suspected: a rule of its own, or a caught error such as an out-of-memory.";
}

std::vector<std::int64_t> numbers_of(const std::vector<const hpo::Trial*>& trials) {
    std::vector<std::int64_t> numbers;
    for (const hpo::Trial* trial : trials) numbers.push_back(trial->number);
    return numbers;
}

std::optional<double> seconds_of(const std::vector<const hpo::Trial*>& trials) {
    std::optional<double> sum;
    for (const hpo::Trial* trial : trials) hpo::analysis::add_known(sum, hpo::analysis::detail::trial_seconds(*trial));
    return sum;
}

constexpr const char* after_error_text = "a value that the program returned after an error, such as an out-of-memory";
constexpr const char* diverged_text = "training that diverged and was stopped, since memory does not depend on it";

/// "each has a lr of 0.0061 or more, and no other trial has".
std::string bound_text(const hpo::analysis::SeparatingBound& bound) {
    return "each has a " + bound.param + " of " + hpo::display_text(bound.bound) + (bound.above ? " or more" : " or less") +
           ", and no other trial has";
}

/// Complete trials whose value is perhaps no result, in sentences.
std::vector<std::string> value_texts(const SilentReport& report, const Objectives& objectives) {
    const SuspiciousValues& values = report.values;
    std::vector<std::string> texts;
    const auto add = [&](const std::vector<const hpo::Trial*>& trials, const std::string& what, const std::string& suspected) {
        std::string text = counted(trials.size(), "complete trial") + " " + what + " Suspected: " + suspected + ". T" +
                           numbers_text(numbers_of(trials)).substr(1);
        if (const auto seconds = seconds_of(trials)) text += ", " + duration(*seconds) + " in all";
        texts.push_back(text + ".");
    };
    if (!values.infinite.empty()) add(values.infinite, "returned a value that is not finite.", after_error_text);
    if (!values.penalised.empty()) {
        add(values.penalised,
            "share the worst value, " + objectives.values_text(*values.penalised.front()) +
                ", and ended far sooner than the others, which take " + duration(values.usual_seconds) +
                (report.penalised_by ? "; " + bound_text(*report.penalised_by) : std::string{}) + ".",
            report.penalised_by ? diverged_text : after_error_text);
    }
    return texts;
}

std::string indivisible_text(const hpo::analysis::IndivisiblePair& pair) {
    return "Each of these trials has a " + pair.whole + " that its " + pair.divisor +
           " does not divide, and no complete trial has. Suspected: an error of shapes";
}

Json region_json(const std::optional<hpo::analysis::FailureRegion>& region) {
    if (!region) return nullptr;
    return {{"where", describe(region->region)},
            {"failed_inside", region->counts.failed_inside},
            {"inside", region->counts.inside},
            {"failed_outside", region->counts.failed_outside},
            {"outside", region->counts.outside},
            {"regions_tried", region->tried},
            {"looks_like_memory", looks_like_memory(region->region)},
            {"probability", region->probability}};
}

}  // namespace

std::string silent_text(const SilentFailure& entry, const SilentReport& report) {
    std::string text = "it " + fact_text(entry.pattern, {&entry}, report.pace);
    if (entry.repeated_by) text += " (trial " + std::to_string(*entry.repeated_by) + ")";
    if (!entry.together_with.empty()) text += " (" + numbers_text(entry.together_with) + ")";
    if (const auto why = suspicion(entry.pattern, report); !why.empty()) text += "; suspected: " + std::string{why};
    if (entry.next_after && program_may_go_on(entry)) {
        text += ". The next trial began " + duration(std::max(*entry.next_after, 0.001)) + " later";
        if (*entry.next_after <= went_on_seconds) text += ": the program went on, as it does after a caught exception or a NaN";
        else if (*entry.next_after > began_again_seconds) text += ": the program is suspected to have ended, too";
    }
    return text;
}

std::string region_text(const hpo::analysis::FailureRegion& region, std::string_view ended) {
    const auto& counts = region.counts;
    return std::to_string(counts.failed_inside) + " of " + counted(counts.inside, "trial") + " with " + describe(region.region) + " " +
           std::string{ended} + ", and " + std::to_string(counts.failed_outside) + " of the " + counted(counts.outside, "other") +
           ". Chance shows that " + chance_text(region.probability) + " (exact test, corrected for the number of regions tried)" +
           (looks_like_memory(region.region) ? ". An out-of-memory looks like it" : "");
}

std::string row_text(const SilentReport& report, const hpo::Trial& trial) {
    for (const SilentFailure& entry : report.failures) {
        if (entry.trial == &trial) return silent_text(entry, report);
    }
    for (const StaleTrial& entry : report.stale) {
        if (entry.trial == &trial) return "it " + stale_text(entry) + "; suspected: its process is gone";
    }
    if (std::ranges::find(report.open, &trial) != report.open.end()) return "it " + open_text(trial);
    const auto is_among = [&](const std::vector<const hpo::Trial*>& trials) { return std::ranges::find(trials, &trial) != trials.end(); };
    if (is_among(report.values.infinite))
        return "its value is not finite; suspected: the program returned it after an error, such as an out-of-memory";
    if (is_among(report.values.penalised))
        return "its value is the worst of the study, " + counted(report.values.penalised.size() - 1, "other trial") +
               " have the same, and they ended far sooner than the others; " +
               (report.penalised_by ? bound_text(*report.penalised_by) + "; suspected: " + diverged_text
                                    : std::string{"suspected: the program returned it after an error, such as an out-of-memory"});
    if (std::ranges::find(report.abandoned, &trial) != report.abandoned.end())
        return "it is RUNNING although its run is gone; the next run of the study ends it";
    for (const UnreportedPrune& entry : report.pruned) {
        if (entry.trial != &trial) continue;
        const std::string after = entry.seconds ? " after " + duration(*entry.seconds) : "";
        const std::string neighbours = entry.neighbour_seconds ? ", where its neighbours take " + duration(*entry.neighbour_seconds) : "";
        return "it was pruned before a report" + after + neighbours + ". " + no_pruner_text +
               "; suspected: a rule of its own, or a caught error such as an out-of-memory";
    }
    return {};
}

void print_silent(const Page& page, const SilentReport& report, const Objectives& objectives) {
    if (report.empty()) return;
    page.line();
    page.heading("Without a message");
    std::map<SilentPattern, std::vector<const SilentFailure*>> groups;
    for (const SilentFailure& entry : report.failures) groups[entry.pattern].push_back(&entry);
    for (const auto& [pattern, entries] : groups) {
        std::vector<std::int64_t> numbers;
        for (const SilentFailure* entry : entries) numbers.push_back(entry->trial->number);
        std::ranges::sort(numbers);
        std::string text = "  " + counted(entries.size(), "failed trial") + " " + fact_text(pattern, entries, report.pace) + ".";
        if (const auto why = suspicion(pattern, report); !why.empty()) text += " Suspected: " + std::string{why} + ".";
        text += " T" + numbers_text(numbers).substr(1) + ".";
        page.paragraph(text, 6);
    }
    for (const std::string& text : value_texts(report, objectives)) page.paragraph("  " + text, 6);
    if (report.indivisible) page.paragraph("  " + indivisible_text(*report.indivisible) + ".", 6);
    if (report.region) page.paragraph("  " + region_text(*report.region, failed_words) + ".", 6);
    if (const std::string after = after_text(report.failures); !after.empty()) page.paragraph("  " + after, 6);
    for (std::size_t i = 0; i < report.stale.size() && i < 3; ++i) {
        const auto& entry = report.stale[i];
        page.paragraph("  Trial " + std::to_string(entry.trial->number) + " " + stale_text(entry) + ". Suspected: its process is gone.", 6);
    }
    if (report.stale.size() > 3) page.line("  and " + counted(report.stale.size() - 3, "other") + " like it");
    for (std::size_t i = 0; i < report.open.size() && i < 3; ++i)
        page.paragraph("  Trial " + std::to_string(report.open[i]->number) + " " + open_text(*report.open[i]) + ".", 6);
    if (report.open.size() > 3) page.line("  and " + counted(report.open.size() - 3, "other") + " that may still run");
    if (!report.abandoned.empty()) page.paragraph("  " + abandoned_text(report.abandoned), 6);
    if (!report.pruned.empty()) page.paragraph("  " + pruned_text(report.pruned), 6);
    if (report.pruned_region) page.paragraph("  " + region_text(*report.pruned_region, pruned_words) + ".", 6);
    if (!report.failures.empty())
        page.paragraph("  The store has no reason for a failure. If the program's own log is there: --log FILE.", 6);
}

Json silent_json(const SilentReport& report) {
    Json failures = Json::array();
    for (const SilentFailure& entry : report.failures) {
        failures.push_back({{"trial", entry.trial->number},
                            {"pattern", to_text(entry.pattern)},
                            {"seconds", or_null(entry.seconds)},
                            {"shows", silent_text(entry, report)},
                            {"repeated_by", or_null(entry.repeated_by)},
                            {"together_with", entry.together_with},
                            {"next_after_seconds", or_null(entry.next_after)}});
    }
    Json stale = Json::array();
    for (const auto& entry : report.stale)
        stale.push_back({{"trial", entry.trial->number},
                         {"seconds", entry.seconds},
                         {"ended_meanwhile", entry.ended_meanwhile},
                         {"idle_seconds", or_null(entry.idle_seconds)}});
    Json abandoned = Json::array();
    for (const hpo::Trial* trial : report.abandoned) abandoned.push_back(trial->number);
    Json pruned = Json::array();
    for (const auto& entry : report.pruned)
        pruned.push_back(
            {{"trial", entry.trial->number}, {"seconds", or_null(entry.seconds)}, {"neighbour_seconds", or_null(entry.neighbour_seconds)}});
    return {{"failures", std::move(failures)},
            {"region", region_json(report.region)},
            {"indivisible",
             report.indivisible ? Json{{"whole", report.indivisible->whole}, {"divisor", report.indivisible->divisor}} : Json(nullptr)},
            {"not_finite", numbers_of(report.values.infinite)},
            {"penalised", numbers_of(report.values.penalised)},
            {"running_too_long", std::move(stale)},
            {"running", numbers_of(report.open)},
            {"running_without_run", std::move(abandoned)},
            {"pruned_without_report", std::move(pruned)},
            {"pruned_region", region_json(report.pruned_region)}};
}

}  // namespace hpo::analyze
