// SPDX-License-Identifier: MIT
#include "analyze/shown/log.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <istream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "analyze/shown/log_file.hpp"
#include "analyze/shown/log_lines.hpp"
#include "hpo/base/bytes.hpp"
#include "hpo/base/error.hpp"

namespace hpo::analyze {

using namespace hpo::tools;
using hpo::analysis::LogMatch;

namespace {

constexpr std::uintmax_t largest_log_bytes = std::uintmax_t{4} << 30U;

[[noreturn]] void refuse_log(const std::string& path, const std::string& what) {
    throw hpo::Error{hpo::Errc::usage, "--log '" + path + "': " + what};
}

}  // namespace

hpo::analysis::ProgramLog read_log(const std::string& path, const hpo::analysis::ParamNames& names) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (status.type() == std::filesystem::file_type::not_found) refuse_log(path, "does not exist");
    if (error) refuse_log(path, error.message());
    if (std::filesystem::is_directory(status)) refuse_log(path, "is a directory; expected a text file");
    if (std::filesystem::is_regular_file(status)) {
        const auto bytes = std::filesystem::file_size(path, error);
        if (!error && bytes > largest_log_bytes) {
            refuse_log(path, "has " + hpo::format_bytes(static_cast<std::int64_t>(bytes)) + "; at most " +
                                 hpo::format_bytes(static_cast<std::int64_t>(largest_log_bytes)) +
                                 " are read: cut it to the lines of this study");
        }
    }
    LogFile bytes{path};
    if (!bytes.is_open()) refuse_log(path, std::string{"cannot be read: "} + std::strerror(errno));
    for (const auto& [mark, program] :
         {std::pair{std::string_view{"\xfd"
                                     "7zXZ"},
                    "xz"},
          std::pair{std::string_view{"BZh"}, "bzip2"}, std::pair{std::string_view{"\x28\xb5\x2f\xfd"}, "zstd"}}) {
        if (bytes.beginning().starts_with(mark))
            refuse_log(path, std::string{"is packed by "} + program + "; unpack it first: " + program + " -dk " + shell_quoted(path));
    }
    std::istream file{&bytes};
    hpo::analysis::LogReader reader{path, names};
    std::string line;
    std::size_t number = 0;
    bool is_of_hpo_tune = false;
    LogLines lines{file};
    while (lines.next(line)) {
        ++number;
        if (line.find('\0') != std::string::npos)
            refuse_log(path, "is no text: line " + std::to_string(number) + " holds a NUL byte; expected the output of the program");
        is_of_hpo_tune = is_of_hpo_tune || line.find("run: begins: hpo-tune ") != std::string::npos;
        reader.line(line);
    }
    if (const std::string wrong = bytes.error(); !wrong.empty()) refuse_log(path, "cannot be read to its end: " + wrong);
    auto log = std::move(reader).finish();
    if (log.events.empty() && log.remarks.empty() && is_of_hpo_tune)
        refuse_log(path, "is the log of a run of hpo-tune. The study's store says all of that, so leave --log out");
    return log;
}

std::vector<hpo::analysis::ProgramLog> read_logs(const std::vector<std::string>& paths, const hpo::analysis::ParamNames& names) {
    std::vector<hpo::analysis::ProgramLog> logs;
    for (const std::string& path : paths) logs.push_back(read_log(path, names));
    const auto tells_nothing = [](const hpo::analysis::ProgramLog& log) {
        return log.events.empty() && log.remarks.empty() && log.shown.empty();
    };
    if (!logs.empty() && std::ranges::all_of(logs, tells_nothing)) {
        refuse_log(paths.front(), "mentions no trial in " + counted(logs.front().lines, "line") +
                                      "; expected Optuna's lines, such as 'Trial 7 failed with parameters: {...} because of the following "
                                      "error: ...', or a traceback");
    }
    return logs;
}

LogMatch match_logs(std::span<const hpo::analysis::ProgramLog> logs, std::span<const hpo::Trial> trials) {
    LogMatch match;
    for (const hpo::analysis::ProgramLog& log : logs) match_log(log, trials, match);
    return match;
}

LogMatch read_logs(const std::vector<std::string>& paths, std::span<const hpo::Trial> trials) {
    return match_logs(read_logs(paths, hpo::analysis::ParamNames{trials}), trials);
}

std::string log_words(const std::vector<std::string>& paths) {
    std::string words;
    for (const std::string& path : paths) words += " --log " + shell_quoted(path);
    return words;
}

std::string unmatched_text(const LogMatch& log) {
    std::string text;
    if (log.unmatched_memory > 0) text = counted(log.unmatched_memory, "line") + " about memory";
    if (log.unmatched_kills > 0) text += (text.empty() ? "" : " and ") + counted(log.unmatched_kills, "line") + " about a killed process";
    if (text.empty()) return {};
    return "the log has " + text + (log.unmatched_memory + log.unmatched_kills == 1 ? " that was" : " that were") +
           " not matched to a trial";
}

void print_log_match(const Page& page, const std::vector<std::string>& paths, const LogMatch& match) {
    if (paths.empty()) return;
    page.line();
    page.heading("Log");
    std::string text = "  " + std::to_string(match.matched_events) + " of " + counted(match.events, "line") +
                       " about the end of a trial belong to this study; ";
    if (match.matched_shown > 0) text += counted(match.matched_shown, "line") + " of the program's own gave a trial's parameters; ";
    text += counted(match.told.size(), "failure") + " told";
    if (match.clock_ahead && *match.clock_ahead != 0) {
        text += std::string{"; its clock is "} + duration(static_cast<double>(std::llabs(*match.clock_ahead)) / 1e6) +
                (*match.clock_ahead > 0 ? " ahead of" : " behind") + " the store's";
    }
    page.paragraph(text + ".", 2);
    for (std::size_t i = 0; i < match.unmatched.size() && i < 5; ++i) page.paragraph("  Not used: " + match.unmatched[i] + ".", 6);
    if (match.unmatched.size() > 5) page.line("  and " + std::to_string(match.unmatched.size() - 5) + " other stretches: --json");
}

void print_log_totals(const Page& page, const std::vector<std::string>& paths, std::span<const LogMatch> matches) {
    if (paths.empty() || matches.empty()) return;
    std::size_t matched = 0, told = 0;
    for (const LogMatch& match : matches) {
        matched += match.matched_events;
        told += match.told.size();
    }
    page.line();
    page.heading("Log");
    page.paragraph("  " + std::to_string(matched) + " of " + counted(matches.front().events, "line") +
                       " about the end of a trial belong to these studies; " + counted(told, "failure") +
                       " told. What belongs to no trial: --study NAME.",
                   2);
}

Json log_json(const std::vector<std::string>& paths, const LogMatch& match) {
    if (paths.empty()) return nullptr;
    return {{"files", paths},
            {"trial_lines", match.events},
            {"matched_lines", match.matched_events},
            {"matched_parameter_lines", match.matched_shown},
            {"failures_told", match.told.size()},
            {"memory_messages_not_used", match.unmatched_memory},
            {"killed_processes_not_used", match.unmatched_kills},
            {"clock_ahead_seconds", match.clock_ahead ? Json(static_cast<double>(*match.clock_ahead) / 1e6) : Json(nullptr)},
            {"not_used", match.unmatched}};
}

}  // namespace hpo::analyze
