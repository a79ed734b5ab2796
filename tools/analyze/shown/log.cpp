// SPDX-License-Identifier: MIT
#include "analyze/shown/log.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "analyze/shown/unpacked_file.hpp"
#include "hpo/base/bytes.hpp"
#include "hpo/base/error.hpp"

namespace hpo::analyze {

using namespace hpo::tools;
using hpo::analysis::LogMatch;

namespace {

/// The lines of a text file in UTF-8, or in UTF-16, as PowerShell writes what it redirects. Without a byte order mark it is UTF-16 if every
/// second of its first bytes is 0.
class LogLines {
public:
    explicit LogLines(std::istream& file) : file_{file} {
        char mark[2] = {};
        file_.read(mark, 2);
        const std::string_view found{mark, static_cast<std::size_t>(file_.gcount())};
        if (found == "\xff\xfe") wide_ = Wide::little;
        else if (found == "\xfe\xff") wide_ = Wide::big;
        file_.clear();
        if (wide_ != Wide::none) return;
        file_.seekg(0);
        char bytes[128] = {};
        file_.read(bytes, sizeof bytes);
        wide_ = without_mark({bytes, static_cast<std::size_t>(file_.gcount())});
        file_.clear();
        file_.seekg(0);
    }

    bool next(std::string& line) {
        if (wide_ == Wide::none) return static_cast<bool>(std::getline(file_, line));
        line.clear();
        bool any = false;
        for (auto unit = read_unit(); unit; unit = read_unit()) {
            any = true;
            if (*unit == U'\n') return true;
            constexpr char32_t high = 0xd800, low = 0xdc00, end = 0xe000, replacement = 0xfffd;
            if (*unit >= high && *unit < low) {
                before_ = *unit;
                continue;
            }
            const bool second = *unit >= low && *unit < end;
            if (!second) append(*unit, line);
            else append(before_ != 0 ? 0x10000 + ((before_ - high) << 10U) + (*unit - low) : replacement, line);
            before_ = 0;
        }
        return any;
    }

private:
    enum class Wide { none, little, big };

    static Wide without_mark(std::string_view begin) {
        std::size_t zeros[2] = {};
        for (std::size_t i = 0; i < begin.size(); ++i) zeros[i % 2] += begin[i] == '\0' ? 1 : 0;
        const std::size_t half = begin.size() / 2;
        constexpr std::size_t fewest = 4;
        if (half < fewest) return Wide::none;
        // A letter of another script has no 0, and no letter is 0 alone.
        if (zeros[0] == 0 && 10 * zeros[1] >= 9 * half) return Wide::little;
        return zeros[1] == 0 && 10 * zeros[0] >= 9 * half ? Wide::big : Wide::none;
    }

    std::optional<char32_t> read_unit() {
        unsigned char bytes[2] = {};
        if (!file_.read(reinterpret_cast<char*>(bytes), 2)) return std::nullopt;
        const bool big = wide_ == Wide::big;
        return static_cast<char32_t>(bytes[big ? 0 : 1] << 8U | bytes[big ? 1 : 0]);
    }
    static void append(char32_t point, std::string& text) {
        const auto tail = [&](unsigned shift) { text += static_cast<char>(0x80U | (point >> shift & 0x3fU)); };
        if (point < 0x80) {
            text += static_cast<char>(point);
        } else if (point < 0x800) {
            text += static_cast<char>(0xc0U | point >> 6U);
            tail(0);
        } else if (point < 0x10000) {
            text += static_cast<char>(0xe0U | point >> 12U);
            tail(6);
            tail(0);
        } else {
            text += static_cast<char>(0xf0U | point >> 18U);
            tail(12);
            tail(6);
            tail(0);
        }
    }

    std::istream& file_;
    Wide wide_ = Wide::none;
    char32_t before_ = 0;  ///< the first half of a pair; 0: none
};

constexpr std::uintmax_t largest_log_bytes = std::uintmax_t{4} << 30U;

/// What of a log cannot be text. A machine that crashes, or a log that is cut while a program writes to it, leaves NUL bytes between lines.
class OddBytes {
public:
    void count(std::string_view line, std::size_t number) {
        bytes_ += line.size() + 1;
        bool in_nuls = false;
        for (const char c : line) {
            const bool is_nul = c == '\0';
            if (is_nul && first_nul_ == 0) first_nul_ = number;
            if (is_nul ? !in_nuls : is_control(c)) ++odd_;  // NUL bytes in a row count once
            in_nuls = is_nul;
        }
    }
    /// True if there are NUL bytes, and more than one in a hundred bytes is odd.
    [[nodiscard]] bool are_too_many() const { return first_nul_ > 0 && odd_ > 1 + bytes_ / 100; }
    [[nodiscard]] std::size_t first_nul() const { return first_nul_; }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

private:
    /// True for control characters that no terminal takes.
    static bool is_control(char c) { return (c > 0 && c < '\a') || (c > '\r' && c < ' ' && c != '\x1b') || c == '\x7f'; }

    std::size_t bytes_ = 0;
    std::size_t odd_ = 0;
    std::size_t first_nul_ = 0;  ///< its line
};

/// A line that is judged before the rest of a file is read follows so many bytes.
constexpr std::size_t enough_bytes = std::size_t{1} << 20U;

/// Puts a carriage return, which ends a piece of a line, in the place of NUL bytes in a row.
void split_at_nuls(std::string& line) {
    const auto both = [](char a, char b) { return a == '\0' && b == '\0'; };
    line.erase(std::unique(line.begin(), line.end(), both), line.end());
    std::ranges::replace(line, '\0', '\r');
}

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
    UnpackedFile bytes{path};
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
    OddBytes odd;
    const auto require_text = [&] {
        if (odd.are_too_many())
            refuse_log(path,
                       "is no text: line " + std::to_string(odd.first_nul()) + " holds a NUL byte; expected the output of the program");
    };
    while (lines.next(line)) {
        ++number;
        odd.count(line, number);
        if (line.find('\0') != std::string::npos) {
            if (odd.bytes() > enough_bytes) require_text();
            split_at_nuls(line);
        }
        is_of_hpo_tune = is_of_hpo_tune || line.find("run: begins: hpo-tune ") != std::string::npos;
        reader.line(line);
    }
    require_text();
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
    std::string text = "  " + std::to_string(match.matched_events()) + " of " + counted(match.event_matched.size(), "line") +
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
    std::size_t told = 0;
    std::vector<bool> matched(matches.front().event_matched.size());  // a line may fit trials of two studies that ran at the same time
    for (const LogMatch& match : matches) {
        for (std::size_t i = 0; i < matched.size(); ++i) matched[i] = matched[i] || match.event_matched[i];
        told += match.told.size();
    }
    page.line();
    page.heading("Log");
    page.paragraph("  " + std::to_string(std::ranges::count(matched, true)) + " of " + counted(matched.size(), "line") +
                       " about the end of a trial belong to these studies; " + counted(told, "failure") +
                       " told. What belongs to no trial: --study NAME.",
                   2);
}

Json log_json(const std::vector<std::string>& paths, const LogMatch& match) {
    if (paths.empty()) return nullptr;
    return {{"files", paths},
            {"trial_lines", match.event_matched.size()},
            {"matched_lines", match.matched_events()},
            {"matched_parameter_lines", match.matched_shown},
            {"failures_told", match.told.size()},
            {"memory_messages_not_used", match.unmatched_memory},
            {"killed_processes_not_used", match.unmatched_kills},
            {"clock_ahead_seconds", match.clock_ahead ? Json(static_cast<double>(*match.clock_ahead) / 1e6) : Json(nullptr)},
            {"not_used", match.unmatched}};
}

}  // namespace hpo::analyze
