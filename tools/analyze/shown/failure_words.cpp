// SPDX-License-Identifier: MIT
#include "analyze/shown/failure_words.hpp"

#include <vector>

#include "support/counts_text.hpp"

namespace hpo::analyze {

namespace tools = hpo::tools;

std::size_t failure_count(const hpo::analysis::FailureTotals& totals) {
    std::size_t count = 0;
    for (const auto& [cause, tally] : totals.causes) count += tally.count;
    for (const auto& [name, tally] : totals.others) count += tally.count;
    return count;
}

std::optional<double> lost_seconds(const hpo::analysis::FailureTotals& totals) {
    std::optional<double> seconds;
    if (failure_count(totals) + totals.vanished_running == 0) seconds = 0;
    hpo::analysis::add_known(seconds, totals.idle_seconds);
    for (const auto& [cause, tally] : totals.causes) hpo::analysis::add_known(seconds, tally.seconds);
    for (const auto& [name, tally] : totals.others) hpo::analysis::add_known(seconds, tally.seconds);
    return seconds;
}

std::string failure_count(std::string_view name, std::size_t count) {
    return std::to_string(count) + (name == "no_message" ? " without a message" : " " + std::string{name});
}

std::string uncertain_text(const hpo::analysis::FailureTotals& totals, std::string_view of) {
    std::vector<std::string> parts;
    const auto add = [&](std::size_t count, std::string_view what) {
        if (count > 0) parts.push_back(std::to_string(count) + ' ' + std::string{what});
    };
    add(totals.silent_failures, "failed without a message");
    add(totals.unexplained_nan, "returned NaN or nothing, and no message says why");
    add(totals.unexplained_infinite, "returned a value that is not finite, without a message");
    add(totals.penalised, "returned the worst value far sooner than others, perhaps as a penalty");
    add(totals.vanished_running, totals.vanished_running == 1 ? "is RUNNING although its process is probably gone"
                                                              : "are RUNNING although their processes are probably gone");
    add(totals.open_running,
        totals.open_running == 1 ? "is RUNNING (it may still run, or be gone)" : "are RUNNING (they may still run, or be gone)");
    add(totals.abandoned_running,
        totals.abandoned_running == 1 ? "is RUNNING although its run is gone" : "are RUNNING although their run is gone");
    add(totals.unreported_prunes, totals.unreported_prunes == 1 ? "was pruned before a report" : "were pruned before a report");
    std::string text;
    for (std::size_t i = 0; i < parts.size(); ++i)
        text += (i == 0 ? std::string{of} + ' ' : i + 1 == parts.size() ? " and " : ", ") + parts[i];
    if (totals.killed_attempts > 0) text += (text.empty() ? "" : "; ") + tools::killed_text(totals);
    return text;
}

}  // namespace hpo::analyze
