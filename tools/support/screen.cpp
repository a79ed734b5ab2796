// SPDX-License-Identifier: MIT
#include "support/screen.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace hpo::tools {

namespace {

/// The text in lines of at most `width` columns, broken at spaces. A word that is longer stays whole.
std::vector<std::string> broken(const std::string& text, std::size_t width) {
    if (columns(text) <= width) return {text};
    const std::string indent = "    ";
    std::vector<std::string> lines;
    std::string line;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(' ', at + (text[at] == ' ' ? 1 : 0)), text.size());
        const std::string word = text.substr(at, end - at);  // with the space before it
        if (!line.empty() && columns(line) + columns(word) > width) {
            lines.push_back(line);
            line = indent + word.substr(word[0] == ' ' ? 1 : 0);
        } else {
            line += word;
        }
        at = end;
    }
    lines.push_back(line);
    return lines;
}

std::string up(std::size_t rows) { return rows > 0 ? "\x1b[" + std::to_string(rows) + "A" : ""; }

}  // namespace

Screen::~Screen() {
    clear();
    current = nullptr;
}

void Screen::draw(const std::vector<std::string>& above, const std::vector<std::string>& block) {
    if (above.empty() && block.empty() && drawn_.empty()) return;
    write_all(descriptor_, frame(above, block, size()));
}

void Screen::make_room() {
    if (current) current->clear();
}

std::string Screen::frame(const std::vector<std::string>& above, const std::vector<std::string>& block, TerminalSize size) {
    const std::size_t width = std::max<std::size_t>(size.columns, 2);
    // A terminal that became narrower has wrapped the lines that stand there.
    std::size_t rows = 0;
    for (const std::size_t columns : drawn_) rows += std::max<std::size_t>((columns + width - 1) / width, 1);
    std::string text = "\x1b[?2026h";
    if (rows > 0) text += "\r" + up(rows);
    // A row is written over and then erased to its end: nothing is blank in between.
    for (const std::string& line : above) {
        for (const std::string& part : broken(on_one_line(line), width)) {
            const std::size_t taken = columns(part);
            text += part;
            text += taken > 0 && taken % width == 0 ? "\n" : "\x1b[K\n";  // in the last column, erasing would take its character
        }
    }
    // A line that reached the last column would wrap, and a block that is higher than the terminal could not be redrawn.
    const std::size_t most = size.rows > 1 ? std::min(size.rows - 1, block.size()) : block.size();
    drawn_.clear();
    // Some terminals tell the program of a new size only a while after they have changed it. What is drawn meanwhile is too wide, and must
    // not wrap: else more rows stand there than the new size explains.
    if (most > 0) text += "\x1b[?7l";
    for (std::size_t i = 0; i < most; ++i) {
        const bool stands_for_rest = i + 1 == most && most < block.size();
        const std::string line =
            clipped(stands_for_rest ? "and " + std::to_string(block.size() - i) + " more lines" : on_one_line(block[i]), width - 1);
        drawn_.push_back(columns(line));
        text += line + "\x1b[K\n";
    }
    if (most > 0) text += "\x1b[?7h";
    if (!above.empty() || most > 0) return text + "\x1b[J\x1b[?2026l";
    // Row by row: a screen that is erased from its first row on goes to the history of some terminals.
    for (std::size_t row = 0; row < rows; ++row) text += "\x1b[K\x1b[B";
    return text + up(rows) + "\x1b[?2026l";
}

void write_all(int descriptor, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(descriptor, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

}  // namespace hpo::tools
