// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/study.hpp"
#include "support/terminal.hpp"

namespace hpo::tools {

/// Where text goes and how it may look there. Control characters of what is written never get there.
class Page {
public:
    Page(std::ostream& out, std::size_t width, bool colour) : out_{out}, width_{width}, colour_{colour} {}
    /// Standard output: as wide as its terminal (120 columns elsewhere, COLUMNS counts), bold headings only on a terminal that
    /// takes escapes, and without NO_COLOR.
    [[nodiscard]] static Page standard_output();

    [[nodiscard]] std::size_t width() const noexcept { return width_; }
    [[nodiscard]] std::ostream& out() const noexcept { return out_; }
    void heading(std::string_view text) const;
    void line(std::string_view text = {}) const;
    /// Breaks at spaces; lines after the first are indented by `indent`.
    void paragraph(std::string_view text, std::size_t indent = 0) const;

private:
    std::ostream& out_;
    std::size_t width_;
    bool colour_;
};

/// Rows under a header, columns as wide as their contents; where the page is too narrow, the last column is cut with "…" or continues
/// below.
class Table {
public:
    enum class Align { left, right };
    enum class Last { cut, wrap };
    struct Column {
        std::string title;
        Align align = Align::left;
    };
    explicit Table(std::vector<Column> columns, Last last = Last::cut) : columns_{std::move(columns)}, last_{last} {}
    void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
    [[nodiscard]] bool empty() const { return rows_.empty(); }
    void print(const Page& page, std::size_t indent = 0) const;

private:
    std::vector<Column> columns_;
    Last last_;
    std::vector<std::vector<std::string>> rows_;
};

[[nodiscard]] std::string duration(double seconds);                                   ///< "3 h 49 min", "55 s", "0.21 s"
[[nodiscard]] std::string duration_or_unknown(const std::optional<double>& seconds);  ///< in a sentence: "an unknown time"
[[nodiscard]] std::string duration_or_dash(const std::optional<double>& seconds);     ///< "-" if it is not known
/// "2026-11-21 09:37:09 UTC".
[[nodiscard]] std::string clock_time(Time time);
/// "42 %", "0.4 %", "0.03 %", "99.8 %": what is not nothing never reads as nothing, and what is not all never as all.
[[nodiscard]] std::string percent(double share);
/// "0.0031", "2.5e-07": two significant digits, for how far a figure may be off.
[[nodiscard]] std::string two_digits(double value);
/// "1 trial", "2 trials".
[[nodiscard]] std::string counted(std::size_t count, std::string_view noun);
/// "attempt 1" of the index 0. People count attempts from 1, as rules of a script do. The store and JSON count from 0.
[[nodiscard]] std::string attempt_name(int index);
/// "1 retry", "2 retries": of the allocator.
[[nodiscard]] std::string retries_text(std::int64_t retries);
[[nodiscard]] std::string params_text(const ParamSet& params);
/// The parameters that the trial ran with. One that a rule changed: "model.width 100 instead of 1500".
[[nodiscard]] std::string params_text(const Trial& trial);
/// A word that a shell takes as it is, or the text in quotes: for commands that a person copies. Control characters and bytes that are
/// no UTF-8 are written as bash, zsh and ksh read them, `$'\x1b'`.
[[nodiscard]] std::string shell_quoted(std::string_view text);
/// The first line of a text, its control characters visible, at most `most` columns of it.
[[nodiscard]] std::string one_line(std::string_view text, std::size_t most);

}  // namespace hpo::tools
