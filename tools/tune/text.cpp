// SPDX-License-Identifier: MIT
#include "text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "hpo/core/value.hpp"

namespace hpo::tune {

std::string number(double value) { return display_text(Value{value}); }

std::string duration(double seconds) {
    char text[64];
    if (seconds < 59.95) {
        std::snprintf(text, sizeof text, "%.1f s", seconds);
        return text;
    }
    const auto whole = static_cast<long long>(std::llround(seconds));
    if (whole < 3600) std::snprintf(text, sizeof text, "%lld min %02lld s", whole / 60, whole % 60);
    else std::snprintf(text, sizeof text, "%lld h %02lld min", whole / 3600, whole % 3600 / 60);
    return text;
}

std::size_t columns(std::string_view text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string clipped(std::string_view text, std::size_t width) {
    if (columns(text) <= width) return std::string{text};
    if (width == 0) return {};
    std::size_t seen = 0;
    std::size_t end = 0;
    while (end < text.size()) {
        if ((static_cast<unsigned char>(text[end]) & 0xC0U) != 0x80U && ++seen == width) break;
        ++end;
    }
    return std::string{text.substr(0, end)} + "…";
}

std::string table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths(header.size());
    const auto measure = [&](const std::vector<std::string>& row) {
        for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) widths[i] = std::max(widths[i], columns(row[i]));
    };
    measure(header);
    for (const auto& row : rows) measure(row);
    std::string text;
    const auto write = [&](const std::vector<std::string>& row) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            line += row[i];
            if (i + 1 < row.size()) line.append(widths[i] - columns(row[i]) + 2, ' ');
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    };
    write(header);
    for (const auto& row : rows) write(row);
    return text;
}

std::string bar(double share, std::size_t width) {
    const double filled = std::clamp(std::isfinite(share) ? share : 0.0, 0.0, 1.0) * static_cast<double>(width);
    const auto cells = static_cast<std::size_t>(std::lround(filled));
    return "[" + std::string(cells, '#') + std::string(width - cells, '.') + "]";
}

}  // namespace hpo::tune
