// SPDX-License-Identifier: MIT
#include "support/text.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "hpo/analysis/changed_params.hpp"
#include "hpo/base/plain_text.hpp"
#include "hpo/core/value.hpp"
#include "hpo/store/sqlite/stored_time.hpp"

namespace hpo::tools {

Page Page::standard_output() {
    const bool terminal = isatty(STDOUT_FILENO) != 0;
    std::size_t width = 120;
    if (terminal) width = std::max<std::size_t>(terminal_size(STDOUT_FILENO).columns, 40);
    else if (const char* columns = std::getenv("COLUMNS"); columns && std::atoi(columns) >= 40)
        width = static_cast<std::size_t>(std::atoi(columns));
    const char* no_colour = std::getenv("NO_COLOR");
    return Page{std::cout, width, takes_escapes(STDOUT_FILENO) && (!no_colour || *no_colour == '\0')};
}

void Page::heading(std::string_view text) const {
    if (colour_) write_escape(out_, "\033[1m");
    out_ << on_one_line(text);
    if (colour_) write_escape(out_, "\033[0m");
    out_ << '\n';
}

void Page::line(std::string_view text) const { out_ << on_one_line(text) << '\n'; }

void Page::paragraph(std::string_view words, std::size_t indent) const {
    const std::string text = on_one_line(words);
    std::string line;
    bool first = true;
    const auto flush = [&] {
        out_ << line << '\n';
        line.assign(indent, ' ');
        first = false;
    };
    std::size_t leading = text.find_first_not_of(' ');
    if (leading == std::string::npos) leading = 0;
    line.assign(leading, ' ');
    bool empty = true;
    for (std::size_t at = leading; at < text.size();) {
        const std::size_t space = std::min(text.find(' ', at), text.size());
        const std::string_view word = std::string_view{text}.substr(at, space - at);
        if (!empty && columns(line) + 1 + columns(word) > width_) {
            flush();
            empty = true;
        }
        if (!empty) line += ' ';
        line += word;
        empty = false;
        at = space + 1;
        while (at < text.size() && text[at] == ' ') {  // several spaces are kept: they align
            line += ' ';
            ++at;
        }
    }
    out_ << line << '\n';
}

void Table::print(const Page& page, std::size_t indent) const {
    std::vector<std::size_t> widths;
    for (const Column& column : columns_) widths.push_back(columns(column.title));
    for (const auto& row : rows_) {
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns(on_one_line(row[i])));
    }
    std::size_t fixed = indent;
    for (std::size_t i = 0; i + 1 < widths.size(); ++i) fixed += widths[i] + 2;
    widths.back() = std::max(std::min(widths.back(), page.width() > fixed ? page.width() - fixed : 0), std::size_t{12});
    const auto print_row = [&](std::vector<std::string> cells) {
        cells.resize(columns_.size());
        std::string line(indent, ' ');
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            const bool wraps = last_ == Last::wrap && i + 1 == columns_.size();
            const std::string shown = on_one_line(cells[i]);
            const std::string cell = wraps ? shown : clipped(shown, widths[i]);
            const std::string padding(widths[i] - std::min(widths[i], columns(cell)), ' ');
            line += columns_[i].align == Align::right ? padding + cell : cell + padding;
            if (i + 1 < columns_.size()) line += "  ";
        }
        line.erase(line.find_last_not_of(' ') + 1);
        if (last_ == Last::wrap) page.paragraph(line, fixed);
        else page.out() << line << '\n';
    };
    std::vector<std::string> titles;
    for (const Column& column : columns_) titles.push_back(column.title);
    if (std::ranges::any_of(columns_, [](const Column& column) { return !column.title.empty(); })) print_row(titles);
    for (const auto& row : rows_) print_row(row);
}

std::string duration(double seconds) {
    char text[64];
    const auto whole = static_cast<long long>(std::llround(seconds));
    if (seconds < 0.001) return "0 s";
    if (seconds < 10) std::snprintf(text, sizeof text, seconds < 1 ? "%.3f s" : "%.1f s", seconds);
    else if (whole < 60) std::snprintf(text, sizeof text, "%lld s", whole);
    else if (whole < 3600) std::snprintf(text, sizeof text, "%lld min %02lld s", whole / 60, whole % 60);
    else std::snprintf(text, sizeof text, "%lld h %02lld min", whole / 3600, whole % 3600 / 60);
    return text;
}

std::string duration_or_unknown(const std::optional<double>& seconds) { return seconds ? duration(*seconds) : "an unknown time"; }
std::string duration_or_dash(const std::optional<double>& seconds) { return seconds ? duration(*seconds) : "-"; }

std::string clock_time(Time time) { return store::time_text(time).substr(0, 19) + " UTC"; }

std::string percent(double share) {
    if (share < 0) return "-" + percent(-share);
    char text[32];
    const char* format = share > 0 && share < 0.001 ? "%.1g %%" : share > 0 && share < 0.01 ? "%.1f %%" : "%.0f %%";
    int nines = 0;  // digits that keep what is not all from reading as all
    for (double least = 0.995; nines < 6 && share >= least && share < 1; least = (9 + least) / 10) ++nines;
    if (nines > 0) std::snprintf(text, sizeof text, "%.*f %%", nines, share * 100);
    else std::snprintf(text, sizeof text, format, share * 100);
    return text;
}

std::string two_digits(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.2g", value);
    return text.data();
}

std::string counted(std::size_t count, std::string_view noun) {
    return std::to_string(count) + " " + std::string{noun} + (count == 1 ? "" : "s");
}

std::string attempt_name(int index) { return "attempt " + std::to_string(std::int64_t{index} + 1); }

std::string retries_text(std::int64_t retries) { return std::to_string(retries) + (retries == 1 ? " retry" : " retries"); }

std::string params_text(const ParamSet& params) {
    std::string text;
    for (const Param& param : params) text += (text.empty() ? "" : ", ") + param.name + " " + display_text(param.value());
    return text;
}

std::string params_text(const Trial& trial) {
    const Attempt* last = analysis::last_attempt(trial);
    const std::string changed = last ? analysis::changes_text(trial, *last) : std::string{};
    if (changed.empty()) return params_text(trial.params);
    ParamSet kept;
    for (const Param& param : trial.params) {
        const Param* ran = last->changed_params->find(param.name);
        if (ran && ran->value() == param.value()) kept.append(param);
    }
    return changed + (kept.empty() ? "" : ", " + params_text(kept));
}

std::string shell_quoted(std::string_view text) {
    static constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,@%+";
    if (!text.empty() && text.find_first_not_of(plain) == std::string_view::npos) return std::string{text};
    if (is_plain_text(text)) {
        std::string quoted = "'";
        for (const char c : text) {
            if (c == '\'') quoted += "'\\''";
            else quoted += c;
        }
        return quoted + "'";
    }
    static constexpr std::string_view hex = "0123456789abcdef";
    std::string quoted = "$'";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '\'' || c == '\\') (quoted += '\\') += c;
        else if (byte >= 0x20 && byte < 0x7F) quoted += c;
        else (quoted += "\\x") += {hex[byte >> 4U], hex[byte & 15U]};
    }
    return quoted + "'";
}

std::string one_line(std::string_view text, std::size_t most) { return clipped(on_one_line(text.substr(0, text.find('\n'))), most); }

}  // namespace hpo::tools
