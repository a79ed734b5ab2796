// SPDX-License-Identifier: MIT
#include "hpo/allocator/trace_timeline.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/allocator/trace_report.hpp"
#include "hpo/base/bytes.hpp"
#include "hpo/base/utf8.hpp"

namespace hpo::allocator {

TraceLayers layers_by_part(const AllocationTrace& trace, const TracePartNames& names) {
    TraceLayers layers{.names = {names.begin(), names.end()}};
    for (const TracePart part : parts_of_blocks(trace)) layers.of_block.push_back(static_cast<std::size_t>(part));
    return layers;
}

TraceLayers layers_by_scope(const AllocationTrace& trace, std::size_t event, std::size_t most) {
    TraceLayers layers;
    if (!trace.events.empty()) {
        for (const ScopeShare& each : moment_after(trace, event).scopes) layers.names.push_back(each.scope);
    }
    const std::size_t own = layers.names.size() < most ? layers.names.size() : most - 1;
    layers.names.resize(own);
    std::vector<std::size_t> of_scope;
    for (const std::string& scope : trace.scopes)
        of_scope.push_back(static_cast<std::size_t>(std::find(layers.names.begin(), layers.names.end(), scope) - layers.names.begin()));
    layers.names.emplace_back("others");
    for (const TracedBlock& each : trace.blocks) layers.of_block.push_back(of_scope[each.scope]);
    return layers;
}

TraceTimeline::TraceTimeline(const AllocationTrace& trace, TraceLayers layers)
    : trace_{trace}, layers_{std::move(layers)}, peak_{requested_peak(trace)}, columns_{columns_of(trace, layers_)} {
    std::int64_t step = 1;
    for (unit_ = 1; unit_ * 1024 <= std::max<std::int64_t>(peak_.bytes, 1) && unit_ < (std::int64_t{1} << 30);) unit_ *= 1024;
    // Chooses a step of 1, 2, 5, 10, ... hundredths of the unit, so that there are about six steps.
    for (std::int64_t factor = 0; unit_ * step / 100 * 6 < peak_.bytes; ++factor) step = factor % 3 == 1 ? step / 2 * 5 : step * 2;
    tick_ = static_cast<double>(unit_ * step) / 100;
    top_ = std::max(tick_ * std::ceil(static_cast<double>(peak_.bytes) / tick_), tick_);
}

std::string TraceTimeline::svg(std::string_view title) const {
    std::string drawn = label({left, 22}, {.attributes = "font-size=\"15\" font-weight=\"bold\""}, title);
    add_phases(drawn);
    add_axis(drawn);
    add_layers(drawn);
    const double height = add_legend(drawn);
    add_peak(drawn);
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + text(width) + " " + text(height) + "\" width=\"" + text(width) +
           "\" height=\"" + text(height) + "\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n<title>" + escaped(title) +
           "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n" + drawn + "</svg>\n";
}

std::vector<std::vector<std::int64_t>> TraceTimeline::columns_of(const AllocationTrace& trace, const TraceLayers& layers) {
    const std::size_t count = std::min(trace.events.size(), static_cast<std::size_t>(right - left));
    std::vector<std::vector<std::int64_t>> columns(count, std::vector<std::int64_t>(layers.names.size()));
    std::vector<std::int64_t> live(layers.names.size());
    std::int64_t sum = 0;
    std::vector<std::int64_t> highest(count, -1);
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
        const std::int64_t event = trace.events[i];
        const std::size_t block = AllocationTrace::block_of(event);
        const std::int64_t change = event >= 0 ? trace.blocks[block].bytes : -trace.blocks[block].bytes;
        live[layers.of_block[block]] += change;
        sum += change;
        const std::size_t column = i * count / trace.events.size();
        if (sum <= highest[column]) continue;
        highest[column] = sum;
        std::partial_sum(live.begin(), live.end(), columns[column].begin());
    }
    return columns;
}

std::string TraceTimeline::text(double value) {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), std::round(value * 100) / 100);
    return {digits.data(), end.ptr};
}

std::string TraceTimeline::escaped(std::string_view raw) {
    std::string out;
    for (std::size_t at = 0; at < raw.size();) {
        const char c = raw[at];
        const std::size_t length = utf8_length(raw, at);
        if (c == '<') out += "&lt;";
        else if (c == '&') out += "&amp;";
        else if (static_cast<unsigned char>(c) < 0x20) out += ' ';
        else if (length == 0) out += "\xEF\xBF\xBD";  // the replacement character: a path need not be UTF-8
        else out += raw.substr(at, length);
        at += std::max<std::size_t>(length, 1);
    }
    return out;
}

std::string TraceTimeline::shortened(const std::string& name) {
    constexpr std::size_t most = 100;
    if (name.size() <= most) return name;
    std::size_t from = name.size() - most;
    while (from < name.size() && (static_cast<unsigned char>(name[from]) & 0xC0U) == 0x80U) ++from;  // not within a UTF-8 character
    return "..." + name.substr(from);
}

void TraceTimeline::add_phases(std::string& out) const {
    for (std::size_t i = 0; i < trace_.phases.size(); ++i) {
        const double begin = x_of(trace_.phases[i].first_event);
        const double end = i + 1 < trace_.phases.size() ? x_of(trace_.phases[i + 1].first_event) : right;
        if (i % 2 == 1) {
            out += "<rect x=\"" + text(begin) + "\" y=\"" + text(above) + "\" width=\"" + text(end - begin) + "\" height=\"" +
                   text(below - above) + "\" fill=\"#f1f1ee\"/>\n";
        }
        const std::string& name = trace_.phases[i].name;
        if (end - begin > 6.2 * static_cast<double>(name.size()))
            out += label({(begin + end) / 2, below + 16}, {.anchor = "middle", .attributes = "font-size=\"11\" fill=\"#666\""}, name);
    }
}

void TraceTimeline::add_axis(std::string& out) const {
    static constexpr std::array<std::string_view, 4> units{"bytes", "KiB", "MiB", "GiB"};
    std::size_t power = 0;
    for (std::int64_t unit = unit_; unit > 1; unit /= 1024) ++power;
    for (double value = 0; value <= top_ + tick_ / 2; value += tick_) {
        out += line({left, y_of(value)}, {right, y_of(value)}, "stroke=\"#ddd\"");
        out += label({left - 8, y_of(value) + 4}, {.anchor = "end"},
                     text(value / static_cast<double>(unit_)) + " " + std::string{units[power]});
    }
    out += label({right, below + 32}, {.anchor = "end", .attributes = "font-size=\"11\" fill=\"#666\""},
                 std::to_string(trace_.events.size()) + " allocations and frees");
}

void TraceTimeline::add_layers(std::string& out) const {
    const double step = (right - left) / static_cast<double>(std::max<std::size_t>(columns_.size(), 1));
    const auto side = [&](std::size_t layer, bool forward) {  // the upper edge of a layer; for the lower edge, layer 0 is the axis
        std::string path;
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            const std::size_t column = forward ? i : columns_.size() - 1 - i;
            const double y = y_of(layer == 0 ? 0.0 : static_cast<double>(columns_[column][layer - 1]));
            const double x = left + step * static_cast<double>(column);
            path += " " + text(forward ? x : x + step) + "," + text(y) + " " + text(forward ? x + step : x) + "," + text(y);
        }
        return path;
    };
    for (std::size_t layer = 0; layer < layers_.names.size(); ++layer)
        out += "<polygon fill=\"" + colour(layer) + "\" points=\"" + side(layer + 1, true) + side(layer, false) + "\"/>\n";
}

double TraceTimeline::add_legend(std::string& out) const {
    std::vector<std::int64_t> held(layers_.names.size());
    if (!trace_.events.empty()) {
        const std::vector<bool> live = live_after(trace_, peak_.event);
        for (std::size_t i = 0; i < live.size(); ++i) {
            if (live[i]) held[layers_.of_block[i]] += trace_.blocks[i].bytes;
        }
    }
    const double first = left + 86;
    double x = first;
    double y = below + 54;
    out += label({left, y}, {}, "at the peak:");
    for (std::size_t layer = 0; layer < layers_.names.size(); ++layer) {
        const std::string words = shortened(layers_.names[layer]) + " " + format_bytes(held[layer]);
        const double taken = 34 + 6.6 * static_cast<double>(words.size());
        if (x > first && x + taken > width) {
            x = first;
            y += legend_row;
        }
        out += "<rect x=\"" + text(x) + "\" y=\"" + text(y - 10) + "\" width=\"11\" height=\"11\" fill=\"" + colour(layer) + "\"/>\n";
        out += label({x + 16, y}, {}, words);
        x += taken;
    }
    return y + legend_row;
}

void TraceTimeline::add_peak(std::string& out) const {
    if (peak_.bytes == 0) return;
    const double x = (x_of(peak_.event) + x_of(peak_.event + 1)) / 2;
    const std::string phase{phase_of(trace_, peak_.event)};
    out += line({x, above - 12}, {x, below}, "stroke=\"#222\" stroke-dasharray=\"4 3\"");
    out += label(
        {x + (x < width / 2 ? -4 : 4), above - 18}, {.anchor = x < width / 2 ? "start" : "end", .attributes = "font-weight=\"bold\""},
        "peak " + format_bytes(peak_.bytes) + " after event " + std::to_string(peak_.event + 1) + (phase.empty() ? "" : ", " + phase));
}

}  // namespace hpo::allocator
