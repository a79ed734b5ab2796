// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/commands/commands.hpp"
#include "analyze/shown/failure_words.hpp"
#include "analyze/shown/log.hpp"
#include "hpo/analysis/failure_cases/failure_name.hpp"
#include "hpo/failure/cause.hpp"
#include "hpo/failure/failure_line.hpp"
#include "hpo/failure/python_error.hpp"
#include "support/json.hpp"
#include "support/text.hpp"

namespace hpo::analyze {

using namespace hpo::tools;

namespace {

/// A failure that a log tells.
struct Message {
    std::string place;
    std::optional<std::int64_t> trial;  ///< that the log names
    hpo::Failure failure;

    [[nodiscard]] bool ran_out() const { return hpo::analysis::ran_out_of_memory(failure.kind); }
};

/// What the logs tell: how trials ended by Optuna's lines, and what was printed beside them. An error of one trial may be told twice, by
/// what its program printed and by Optuna.
struct LogFailures {
    std::vector<Message> messages;
    std::vector<Message> beside;  ///< in an overview of out-of-memories: killed processes, and trials that a program refused
    std::size_t lines = 0;
    std::size_t ends = 0;       ///< lines about the end of a trial
    std::size_t own_words = 0;  ///< errors in a program's own words
};

void add(LogFailures& failures, const hpo::analysis::ProgramLog& log) {
    failures.lines += log.lines;
    failures.ends += log.events.size();
    const auto place = [&](std::size_t line) { return log.name + ", line " + std::to_string(line); };
    std::map<std::size_t, Message> by_line;
    for (const hpo::analysis::LogEvent& event : log.events) {
        hpo::Failure failure = hpo::analysis::detail::failure_of(event);
        if (hpo::analysis::detail::tells_failure(event, failure))
            by_line.emplace(event.line, Message{place(event.line), event.trial, std::move(failure)});
    }
    for (const hpo::analysis::LogRemark& remark : log.remarks) {
        failures.own_words += remark.own_words ? 1 : 0;
        if (!remark.own_words && !remark.doubtful) by_line.emplace(remark.line, Message{place(remark.line), remark.trial, remark.failure});
    }
    const Message* before = nullptr;  // a message about memory without figures: the error that it names may stand below
    std::size_t line_before = 0;
    for (auto& [line, message] : by_line) {
        constexpr std::size_t longest_traceback = 60;
        const bool is_same = before && line - line_before <= longest_traceback && message.ran_out() && message.failure.requested_bytes &&
                             message.trial == before->trial;
        if (is_same) failures.messages.pop_back();
        hpo::explain_oom(message.failure, {});
        failures.messages.push_back(std::move(message));
        const Message& kept = failures.messages.back();
        before = kept.ran_out() && !kept.failure.requested_bytes ? &kept : nullptr;
        line_before = line;
    }
}

std::string name_of(const Message& message) {
    const hpo::Failure& failure = message.failure;
    return message.ran_out() ? std::string{hpo::analysis::failure_name(failure)} + " (" +
                                   std::string{to_text(failure.cause.value_or(hpo::OomCause::unknown))} + ")"
                             : std::string{hpo::analysis::failure_name(failure)};
}

Json messages_json(const std::vector<Message>& messages) {
    Json all = Json::array();
    for (const Message& message : messages) {
        all.push_back({{"place", message.place},
                       {"trial", message.trial ? Json(*message.trial) : Json(nullptr)},
                       {"kind", std::string{hpo::analysis::failure_name(message.failure)}},
                       {"cause", message.failure.cause ? Json(std::string{to_text(*message.failure.cause)}) : Json(nullptr)},
                       {"evidence", message.failure.evidence},
                       {"message", hpo::failure_line(message.failure)}});
    }
    return all;
}

Json failures_json(const Query& query, const LogFailures& failures) {
    return {{"store", nullptr},
            {"files", query.logs},
            {"lines", failures.lines},
            {"trial_lines", failures.ends},
            {"messages", messages_json(failures.messages)},
            {"beside_memory", messages_json(failures.beside)},
            {"other_error_lines", failures.own_words}};
}

/// What a message says, as the page shows it.
std::string says(const Message& message) {
    std::string text = message.failure.evidence.empty() ? one_line(hpo::failure_line(message.failure), 300) : message.failure.evidence;
    constexpr std::string_view perhaps = "perhaps by the kernel's out-of-memory killer";
    if (hpo::was_killed(message.failure) && text.find(perhaps) == std::string::npos) text += "; killed " + std::string{perhaps};
    return text;
}

void print_messages(const Page& page, const std::vector<Message>& messages) {
    constexpr std::size_t most = 20;
    for (std::size_t i = 0; i < messages.size() && i < most; ++i) {
        const Message& message = messages[i];
        page.paragraph("  " + message.place + (message.trial ? ", trial " + std::to_string(*message.trial) : "") + ": " + name_of(message) +
                           ": " + says(message),
                       6);
    }
    if (messages.size() > most) page.line("  and " + counted(messages.size() - most, "other") + ": --json");
}

}  // namespace

void add_log_option(CLI::App* command, Query& query) {
    command->add_option("--log", query.logs, "the log of the program that ran the study: why trials failed (repeatable)")
        ->allow_extra_args(false);
}

void log_alone(const Query& query, Overview of) {
    LogFailures failures;
    for (const std::string& path : query.logs) add(failures, read_log(path, {}));
    if (of == Overview::oom) {
        for (const Message& message : failures.messages) {
            if (hpo::was_killed(message.failure) || message.failure.kind == hpo::FailureKind::predicted_oom)
                failures.beside.push_back(message);
        }
        std::erase_if(failures.messages, [](const Message& message) { return !message.ran_out(); });
    }
    if (query.json) return print(failures_json(query, failures));
    const Page page = Page::standard_output();
    const std::string where = query.logs.size() == 1 ? query.logs.front() : counted(query.logs.size(), "log");
    const std::string what = of == Overview::oom ? "out-of-memory" : "failure";
    const std::string read = " in " + counted(failures.lines, "line") + ", " + std::to_string(failures.ends) + " about the end of a trial";
    if (failures.messages.empty()) {
        page.paragraph("No message of " + std::string{of == Overview::oom ? "an " : "a "} + what + " in " + where + read + ".");
    } else {
        page.heading("Messages of " + what + (of == Overview::oom ? "" : "s") + " in " + where + ": " +
                     std::to_string(failures.messages.size()) + read);
        std::map<std::string, std::size_t> counts;
        for (const Message& message : failures.messages) ++counts[name_of(message)];
        std::vector<std::pair<std::string, std::size_t>> sorted(counts.begin(), counts.end());
        std::ranges::stable_sort(sorted, std::greater{}, [](const auto& entry) { return entry.second; });
        Table table{{{"count", Table::Align::right}, {"failure"}}};
        for (const auto& [name, count] : sorted) table.row({std::to_string(count), name});
        table.print(page, 2);
        page.line();
        page.heading("What they say");
        print_messages(page, failures.messages);
    }
    if (!failures.beside.empty()) {
        page.line();
        page.heading("Killed processes, and trials that a program refused");
        print_messages(page, failures.beside);
    }
    if (of == Overview::failures && failures.own_words > 0)
        page.paragraph("  " + counted(failures.own_words, "other line") + " may tell of an error in the program's own words.", 2);
    page.line();
    page.paragraph("No store was read: there is no " + query.store +
                   " here, and --store names none. So the trials' states and parameters are "
                   "not known, nor what would have fitted.");
}

}  // namespace hpo::analyze
