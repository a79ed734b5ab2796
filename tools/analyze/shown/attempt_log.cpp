// SPDX-License-Identifier: MIT
#include "analyze/shown/attempt_log.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace hpo::analyze {

using namespace hpo::tools;

void print_log(const Page& page, std::string_view text) {
    constexpr std::size_t most_lines = 12;
    constexpr std::size_t indent = 15;
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    std::string label = "    log        ";
    if (lines.size() > most_lines) {
        page.line(label + "the last " + std::to_string(most_lines) + " of " + std::to_string(lines.size()) +
                  " lines that are kept; --json has them all");
        label.assign(indent, ' ');
        lines.erase(lines.begin(), lines.end() - most_lines);
    }
    for (const std::string_view line : lines) {
        page.line(label + one_line(line, page.width() > 2 * indent ? page.width() - indent : indent));
        label.assign(indent, ' ');
    }
}

}  // namespace hpo::analyze
