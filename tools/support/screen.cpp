// SPDX-License-Identifier: MIT
#include "support/screen.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace hpo::tools {

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
    if (rows > 0) text += "\r\x1b[" + std::to_string(rows) + "A";
    const bool moves = !above.empty() || rows != drawn_.size() || block.empty();
    if (moves) text += "\x1b[J";
    for (const std::string& line : above) text += on_one_line(line) + "\n";
    // A line that reached the last column would wrap, and a block that is higher than the terminal could not be redrawn.
    const std::size_t most = size.rows > 1 ? std::min(size.rows - 1, block.size()) : block.size();
    drawn_.clear();
    for (std::size_t i = 0; i < most; ++i) {
        const bool stands_for_rest = i + 1 == most && most < block.size();
        const std::string line =
            clipped(stands_for_rest ? "and " + std::to_string(block.size() - i) + " more lines" : on_one_line(block[i]), width - 1);
        drawn_.push_back(columns(line));
        text += line + (moves ? "\n" : "\x1b[K\n");
    }
    if (!moves) text += "\x1b[J";
    return text + "\x1b[?2026l";
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
