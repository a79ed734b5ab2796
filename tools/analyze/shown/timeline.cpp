// SPDX-License-Identifier: MIT
#include "analyze/shown/timeline.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/base/bytes.hpp"
#include "hpo/core/memory_leak.hpp"

namespace hpo::analyze {

using namespace hpo::tools;

namespace {

constexpr std::string_view sample_name = "step";

/// The most that was allocated in each of `count` equal parts of the attempt's time; a part without a mark has what the one before it
/// ended with.
std::vector<std::int64_t> highest_in_parts(const std::vector<hpo::MemoryMark>& marks, std::size_t count) {
    const double seconds = marks.back().seconds;
    std::vector<std::int64_t> highest(count, -1);
    std::vector<std::int64_t> last(count, 0);
    for (const hpo::MemoryMark& mark : marks) {
        const double share = seconds > 0 ? std::max(0.0, mark.seconds) / seconds : 0;
        const std::size_t part = std::min(count - 1, static_cast<std::size_t>(share * static_cast<double>(count)));
        highest[part] = std::max(highest[part], *mark.reading.allocated);
        last[part] = *mark.reading.allocated;
    }
    std::int64_t held = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (highest[i] < 0) highest[i] = held;
        else held = last[i];
    }
    return highest;
}

std::string bars(const std::vector<std::int64_t>& bytes, std::int64_t most) {
    static constexpr std::array<std::string_view, 8> heights{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    std::string text;
    for (const std::int64_t each : bytes) {
        const double share = most > 0 ? static_cast<double>(each) / static_cast<double>(most) : 0;
        text += heights[std::min(heights.size() - 1, static_cast<std::size_t>(share * static_cast<double>(heights.size())))];
    }
    return text;
}

/// True for a mark of what is left after an attempt, which has a line of its own.
bool tells_rest(const hpo::MemoryMark& mark) {
    return mark.name == hpo::leak_mark || mark.name == hpo::held_cache_mark || mark.name == hpo::host_growth_mark;
}

std::string bytes_or_dash(const std::optional<std::int64_t>& bytes) { return bytes ? hpo::format_bytes(*bytes) : "-"; }

void print_bars(const Page& page, const hpo::Attempt& attempt) {
    std::vector<hpo::MemoryMark> marks = attempt.memory;
    std::erase_if(marks, [](const hpo::MemoryMark& mark) { return !mark.reading.allocated || mark.name == hpo::leak_mark; });
    const auto samples = static_cast<std::size_t>(std::ranges::count(marks, sample_name, &hpo::MemoryMark::name));
    if (samples == 0) return;
    std::ranges::stable_sort(marks, {}, &hpo::MemoryMark::seconds);
    const std::size_t count = std::min<std::size_t>(60, page.width() - 15);
    const auto highest = highest_in_parts(marks, count);
    const std::int64_t most = std::max(attempt.peak_allocated.value_or(0), *std::ranges::max_element(highest));
    page.line("    memory     " + bars(highest, most));
    page.paragraph("               allocated over " + duration(marks.back().seconds) + ", " + counted(samples, "sample") +
                       "; a full bar is " + hpo::format_bytes(most),
                   15);
}

}  // namespace

void print_timeline(const Page& page, const hpo::Attempt& attempt) {
    if (attempt.memory.empty()) return;
    print_bars(page, attempt);
    using Align = Table::Align;
    Table table{{{"moment"}, {"after", Align::right}, {"allocated", Align::right}, {"reserved", Align::right}, {"free", Align::right}}};
    for (const hpo::MemoryMark& mark : attempt.memory) {
        if (mark.name == sample_name || tells_rest(mark)) continue;
        if (mark.name == "end" && (attempt.peak_allocated || attempt.peak_reserved))
            table.row({"peak", "", bytes_or_dash(attempt.peak_allocated), bytes_or_dash(attempt.peak_reserved), ""});
        table.row({one_line(mark.name, 24), duration(mark.seconds), bytes_or_dash(mark.reading.allocated),
                   bytes_or_dash(mark.reading.reserved), bytes_or_dash(mark.reading.free)});
    }
    if (!table.empty()) table.print(page, 4);
    for (const hpo::MemoryMark& mark : attempt.memory) {
        if (mark.name == sample_name || mark.reading.neighbours.empty()) continue;
        std::string text = "    beside     at " + one_line(mark.name, 24) + ":";
        for (const hpo::MemoryNeighbour& neighbour : mark.reading.neighbours) {
            text += (text.ends_with(':') ? " " : ", ") +
                    (neighbour.program.empty() ? std::string{} : one_line(neighbour.program, 32) + " ") + "(process " +
                    std::to_string(neighbour.pid) + ") " + hpo::format_bytes(neighbour.bytes);
        }
        page.paragraph(text, 15);
    }
    if (const auto leaked = hpo::leaked_bytes(attempt))
        page.paragraph("    leak       " + hpo::format_bytes(*leaked) + " were still allocated after the attempt; its worker was replaced",
                       15);
    for (const hpo::MemoryMark& mark : attempt.memory) {
        if (mark.name == hpo::held_cache_mark && mark.reading.reserved)
            page.paragraph("    cache      " + hpo::format_bytes(*mark.reading.reserved) +
                               " stayed reserved without use after the attempt; its worker was replaced",
                           15);
        if (mark.name == hpo::host_growth_mark && mark.reading.allocated)
            page.paragraph("    growth     the host memory of its worker had grown by " + hpo::format_bytes(*mark.reading.allocated) +
                               " over its latest attempts; the worker was replaced",
                           15);
    }
}

}  // namespace hpo::analyze
