// SPDX-License-Identifier: MIT
#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <system_error>

#include "analyze/commands/commands.hpp"
#include "analyze/shown/rung_table.hpp"
#include "hpo/analysis/failure_cases/peak_attribute.hpp"
#include "hpo/analysis/memory_report.hpp"
#include "hpo/base/bytes.hpp"
#include "hpo/base/error.hpp"
#include "support/json.hpp"
#include "support/law_json.hpp"
#include "support/options.hpp"
#include "support/text.hpp"

namespace hpo::analyze {

using namespace hpo::tools;

namespace {

struct MemoryOptions {
    std::optional<std::string> limit;  ///< "20GiB" or "90%"
    std::size_t top = 10;              ///< rows of a list
};

using hpo::analysis::CalibrationRow;
using hpo::analysis::MemoryReport;
using hpo::analysis::TrialUse;

/// "20GiB", or "90%" of the device. A small number without a unit is rather a share that lacks its sign than so many bytes.
hpo::analysis::MemoryLimit parse_limit(const std::string& text) {
    std::string got = "'" + text + "'";
    if (text.ends_with("%")) {
        double percent = 0;
        const char* const end = text.data() + text.size() - 1;
        const auto [at, status] = std::from_chars(text.data(), end, percent);
        if (status == std::errc{} && at == end && percent > 0 && percent <= 100) return {.bytes = {}, .share = percent / 100};
    } else if (const auto bytes = hpo::parse_bytes(text); bytes && *bytes > 0) {
        const bool bare = text.find_first_not_of("0123456789.") == std::string::npos;
        if (!bare || *bytes >= std::int64_t{1} << 20U) return {.bytes = bytes, .share = {}};
        got += ", which is " + hpo::format_bytes(*bytes);
    }
    throw hpo::bad_value("--limit", got, "a size such as 20GiB, or a share of the device such as 90%");
}

/// What was predicted for the attempt that used so much; for the last one where none of them is known to have.
std::optional<std::int64_t> predicted_bytes(const TrialUse& use) {
    const hpo::Attempt* const attempt = hpo::analysis::attempt_of(use);
    return attempt && attempt->estimate ? attempt->estimate->need : std::nullopt;
}

Json use_json(const MemoryReport& report, const TrialUse& use) {
    return {{"trial", use.trial->number},
            {"state", hpo::analysis::state_word(*use.trial)},
            {"bytes", use.bytes},
            {"share", or_null(report.share_of(use))},
            {"ran_out_of_memory", use.ran_out},
            {"needs_more", use.needs_more},
            {"recovered", use.recovered},
            {"predicted_bytes", or_null(predicted_bytes(use))},
            {"params", to_json(use.trial->params)}};
}

Json report_json(const StudyData& data, const MemoryReport& report, std::size_t top) {
    Json calibration = Json::array();
    for (const CalibrationRow& row : report.calibration) {
        calibration.push_back(
            {{"source", row.source},
             {"claimed_confidence", row.claimed > 0 ? Json(row.claimed) : Json(nullptr)},
             {"attempts", row.attempts},
             {"ran_out_of_memory", row.ran_out},
             {"underestimated", row.underestimated},
             {"underestimate_rate", row.underestimate_rate()},
             {"measured_over_predicted", {{"q05", or_null(row.low)}, {"median", or_null(row.median)}, {"q95", or_null(row.high)}}}});
    }
    Json highest = Json::array();
    for (std::size_t i = 0; i < report.top.size() && i < top; ++i) highest.push_back(use_json(report, report.top[i]));
    Json above = Json::array();
    for (const TrialUse& use : report.above_limit) above.push_back(use_json(report, use));
    Json safe = nullptr;
    if (report.safe) {
        safe = {{"where", report.safe->region.empty() ? Json(nullptr) : Json(describe(report.safe->region))},
                {"trials", report.safe->trials},
                {"left_out_trials", report.neither_safe_nor_not},
                {"rate_below", report.safe->rate_bound()}};
    }
    Json leaks = Json::array();
    for (const auto& leak : report.leaks)
        leaks.push_back({{"trial", leak.trial->number}, {"attempt", leak.attempt}, {"bytes", leak.bytes}});
    Json laws = Json::array();
    for (const auto& [device, law] : report.laws) laws.push_back({{"device", device}, {"law", to_json(law)}});
    const bool compared = !report.calibration.empty();
    return {{"study", data.study.name},
            {"devices", report.devices},
            {"capacity_bytes", or_null(report.capacity_bytes)},
            {"other_capacities", report.other_capacities},
            {"capacities", report.capacities.empty() ? Json(nullptr) : Json(report.capacities)},
            {"trials", report.counts.trials},
            {"oom_trials", report.counts.oom_trials},
            {"recovered_trials", report.counts.recovered_trials},
            {"measured_trials", report.measured_trials},
            {"predicted_attempts", report.predicted_attempts > 0 ? Json(report.predicted_attempts) : Json(nullptr)},
            {"refused_before_launch", report.refused_before_launch},
            {"rungs", rung_json(memory_rung_lines(data.trials))},
            {"calibration", compared ? std::move(calibration) : Json(nullptr)},
            {"top", std::move(highest)},
            {"limit_bytes", or_null(report.limit_bytes)},
            {"above_limit", report.limit_bytes ? std::move(above) : Json(nullptr)},
            {"highest_peak_bytes", report.top.empty() ? Json(nullptr) : Json(report.top.front().bytes)},
            {"highest_fitting_peak_bytes", report.highest ? Json(report.highest->bytes) : Json(nullptr)},
            {"highest_share", or_null(report.highest_share())},
            {"silent_failures", report.silent_failures},
            {"headroom_bytes", or_null(report.headroom_bytes())},
            {"safe_region", std::move(safe)},
            {"leaks", std::move(leaks)},
            {"laws", std::move(laws)}};
}

std::string share_text(const MemoryReport& report, const TrialUse& use) {
    const auto share = report.share_of(use);
    return share ? percent(*share) : "-";
}

std::string ratio_text(const std::optional<double>& ratio) {
    if (!ratio) return "-";
    std::string text(32, '\0');
    text.resize(static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%.3f", *ratio)));
    return text;
}

/// Attributes that perhaps hold a peak, in a unit that nothing tells.
void print_unread(const Page& page, const StudyData& data) {
    const auto names = hpo::analysis::unread_peaks(data.trials);
    if (names.empty()) return;
    const std::vector<std::string> list{names.begin(), names.end()};
    page.paragraph("  not read  " + hpo::join_names(list) +
                       ": it is not known in which unit, or whether of the device. A name such as peak_vram_gib tells both",
                   12);
}

void print_device(const Page& page, const MemoryReport& report) {
    std::string names;
    for (const std::string& name : report.devices) names += (names.empty() ? "" : ", ") + name;
    if (!names.empty()) page.paragraph("  device    " + names, 12);
    std::string capacities = report.capacity_bytes && report.capacities.empty() ? hpo::format_bytes(*report.capacity_bytes) : "";
    for (const auto& [device, bytes] : report.capacities)
        capacities += (capacities.empty() ? "" : ", ") + hpo::format_bytes(bytes) + " of " + device;
    std::string others;
    for (const std::int64_t bytes : report.other_capacities) others += (others.empty() ? "" : ", ") + hpo::format_bytes(bytes);
    if (!capacities.empty() && !others.empty()) capacities += "; in other runs " + others;
    if (!capacities.empty()) page.paragraph("  capacity  " + capacities, 12);
    if (!report.highest) {
        page.paragraph("  headroom  not known: no trial left its peak", 12);
        return;
    }
    std::string text = "  headroom  highest peak " + hpo::format_bytes(report.highest->bytes) + " in trial " +
                       std::to_string(report.highest->trial->number);
    if (const auto share = report.highest_share())
        text += ", " + percent(*share) + " of " + (report.capacities.empty() && report.other_capacities.empty() ? "the" : "its") +
                " device; " + hpo::format_bytes(*report.headroom_bytes()) + " were left";
    if (const TrialUse& most = report.top.front(); most.bytes > report.highest->bytes && (most.ran_out || most.recovered))
        text += "; with those that ran out of memory the most is " + hpo::format_bytes(most.bytes) + ", in trial " +
                std::to_string(most.trial->number);
    page.paragraph(text, 12);
}

void print_leaks(const Page& page, const MemoryReport& report) {
    if (report.leaks.empty()) return;
    const auto& largest = report.leaks.front();
    page.paragraph("  leaks     after " + counted(report.leaks.size(), "attempt") +
                       " the worker still held memory and was replaced; the most " + hpo::format_bytes(largest.bytes) + ", after trial " +
                       std::to_string(largest.trial->number),
                   12);
}

void print_laws(const Page& page, const MemoryReport& report) {
    for (const auto& [device, law] : report.laws)
        page.paragraph("  peaks     " + (report.laws.size() > 1 ? "of " + device + ": " : std::string{}) + in_words(law), 12);
}

void print_calibration(const Page& page, const MemoryReport& report) {
    page.line();
    page.heading("Predicted against measured");
    if (report.calibration.empty()) {
        page.paragraph(report.predicted_attempts == 0
                           ? "  This study holds no predictions."
                           : "  " + counted(report.predicted_attempts, "attempt") + " with a prediction, none with a measured peak.",
                       2);
    } else {
        using Align = Table::Align;
        Table table{{{"source"},
                     {"claimed", Align::right},
                     {"attempts", Align::right},
                     {"too low", Align::right},
                     {"rate", Align::right},
                     {"ran out", Align::right},
                     {"q05", Align::right},
                     {"median", Align::right},
                     {"q95", Align::right}}};
        for (const CalibrationRow& row : report.calibration) {
            table.row({row.source, row.claimed > 0 ? percent(row.claimed) : "-", std::to_string(row.attempts),
                       std::to_string(row.underestimated), percent(row.underestimate_rate()), std::to_string(row.ran_out),
                       ratio_text(row.low), ratio_text(row.median), ratio_text(row.high)});
        }
        table.print(page, 2);
        page.paragraph("  q05, median and q95 are quantiles of measured / predicted, before the guard's margin.", 2);
    }
    if (report.refused_before_launch > 0) page.line("  " + counted(report.refused_before_launch, "proposal") + " refused before launch.");
}

void print_uses(const Page& page, const MemoryReport& report, const std::vector<TrialUse>& uses, std::size_t most) {
    using Align = Table::Align;
    Table table{
        {{"trial", Align::right}, {"peak", Align::right}, {"share", Align::right}, {"predicted", Align::right}, {"state"}, {"parameters"}}};
    for (std::size_t i = 0; i < uses.size() && i < most; ++i) {
        const TrialUse& use = uses[i];
        const auto predicted = predicted_bytes(use);
        table.row({std::to_string(use.trial->number), (use.needs_more ? "> " : "") + hpo::format_bytes(use.bytes), share_text(report, use),
                   predicted ? hpo::format_bytes(*predicted) : "-",
                   std::string{hpo::analysis::state_word(*use.trial)} + (use.ran_out     ? ", out of memory"
                                                                         : use.recovered ? ", recovered"
                                                                                         : ""),
                   params_text(use.trial->params)});
    }
    table.print(page, 2);
    if (uses.size() > most) page.line("  and " + counted(uses.size() - most, "other") + ": --top");
}

void print_safe(const Page& page, const MemoryReport& report) {
    page.line();
    page.heading("Safe region");
    if (!report.safe) {
        page.paragraph("  None can be named from the trials of this study.", 2);
        return;
    }
    const std::string what = report.limit_bytes ? "needed more than " + hpo::format_bytes(*report.limit_bytes) : "ran out of memory";
    const std::string where = report.safe->region.empty() ? "Everywhere" : "With " + describe(report.safe->region);
    page.paragraph("  " + where + " none of " + counted(report.safe->trials, "trial") + " " + what + "; with 95 % confidence less than " +
                       percent(report.safe->rate_bound()) + " of such trials do." +
                       (report.refused_before_launch > 0 ? " Proposals that were refused before launch count as too large." : "") +
                       (report.silent_failures > 0 ? " Not counted: " + counted(report.silent_failures, "trial") +
                                                         " that failed without a message, out of memory perhaps."
                                                   : ""),
                   2);
    if (report.neither_safe_nor_not > 0) {
        page.paragraph("  Not counted here: " + counted(report.neither_safe_nor_not, "trial") +
                           " that ran out of memory for causes outside of the parameters (hpo-analyze oom).",
                       2);
    }
}

void memory(const Query& query, const MemoryOptions& options) {
    const auto limit = options.limit ? parse_limit(*options.limit) : hpo::analysis::MemoryLimit{};
    const StudyData data = read_study_without_reports(query);
    const MemoryReport report = hpo::analysis::memory_report(data.trials, data.rejections, limit);
    if (limit.share && !report.limit_bytes)
        throw hpo::Error{hpo::Errc::usage, "--limit: the device's capacity is not in the store; expected a size such as 20GiB"};
    if (query.json) {
        print(report_json(data, report, options.top));
        return;
    }
    const Page page = Page::standard_output();
    page.paragraph("Memory of study " + data.study.name + ": " + std::to_string(report.measured_trials) + " of " +
                   counted(report.counts.trials, "trial") + " with a measured peak" +
                   (report.counts.oom_trials > 0 ? "; " + std::to_string(report.counts.oom_trials) + " ran out of memory" : ""));
    print_device(page, report);
    print_unread(page, data);
    print_leaks(page, report);
    print_laws(page, report);
    print_calibration(page, report);
    if (report.limit_bytes) {
        page.line();
        const bool by_share = limit.share && !report.other_capacities.empty();
        page.heading("Above " +
                     (by_share ? options.limit.value() + " of the device that each had" : hpo::format_bytes(*report.limit_bytes)) + ": " +
                     counted(report.above_limit.size(), "trial"));
        if (!report.above_limit.empty()) print_uses(page, report, report.above_limit, options.top);
    }
    if (!report.top.empty()) {
        page.line();
        page.heading("Highest peaks");
        print_uses(page, report, report.top, options.top);
    }
    print_rungs(page, memory_rung_lines(data.trials));
    print_safe(page, report);
}

}  // namespace

void add_memory(tools::CommandLine& line, Query& query) {
    auto* command = line.add("memory", "what trials used of the device, and how well that was predicted");
    auto options = std::make_shared<MemoryOptions>();
    command->add_option("--limit", options->limit, "list trials above it: a size such as 20GiB, or a share of the device such as 90%");
    command->add_option("--top", options->top, "rows of each list")->check(tools::at_least(1))->capture_default_str();
    line.on(command, [&query, options] {
        memory(query, *options);
        return 0;
    });
}

}  // namespace hpo::analyze
