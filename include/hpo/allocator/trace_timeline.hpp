// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/allocator/allocation_trace.hpp"
#include "hpo/allocator/trace_peak.hpp"

namespace hpo::allocator {

/// The layers that a picture of a trace stacks: each block of the trace belongs to one.
struct TraceLayers {
    std::vector<std::string> names;       ///< from below
    std::vector<std::size_t> of_block{};  ///< for each block, an index into names
};

/// One layer for each part of training. `names` are what the parts are called. O(events).
[[nodiscard]] TraceLayers layers_by_part(const AllocationTrace& trace, const TracePartNames& names = trace_part_names);

/// One layer for each of the scopes that hold the most after `event`, the largest at the bottom, and a last one, "others", for the rest. At
/// most `most` layers, at least 1. O(events).
[[nodiscard]] TraceLayers layers_by_scope(const AllocationTrace& trace, std::size_t event, std::size_t most);

/// A trace as a picture: the requested bytes of live blocks over the events, stacked by layer. Phases and the peak are marked. The result
/// is one self-contained SVG document. A column of the picture shows the highest of its events, so that no peak is lost.
class TraceTimeline {
public:
    static constexpr std::size_t most_layers = 9;

    /// At most most_layers layers have colours of their own.
    TraceTimeline(const AllocationTrace& trace, TraceLayers layers);

    [[nodiscard]] std::string svg(std::string_view title) const;

private:
    static constexpr double width = 1000;
    static constexpr double left = 84;
    static constexpr double right = 980;
    static constexpr double above = 60;
    static constexpr double below = 420;
    static constexpr double legend_row = 18;
    static constexpr std::array<std::string_view, most_layers> colours{"#3b6ea8", "#c8553d", "#e0a030", "#5a9e6f", "#9b8ab8",
                                                                       "#4aa5b5", "#b5651d", "#d48fb0", "#8c8c84"};
    struct Point {
        double x = 0;
        double y = 0;
    };
    struct Look {
        std::string_view anchor = "start";  ///< which end of the text is at its point
        std::string_view attributes{};      ///< further attributes of the SVG element
    };

    /// The highest moment of each column, as cumulative sums of its layers from below.
    [[nodiscard]] static std::vector<std::vector<std::int64_t>> columns_of(const AllocationTrace& trace, const TraceLayers& layers);

    [[nodiscard]] static std::string colour(std::size_t layer) { return std::string{colours[std::min(layer, most_layers - 1)]}; }
    [[nodiscard]] double x_of(std::size_t event) const {
        return left + (right - left) * static_cast<double>(event) / static_cast<double>(std::max<std::size_t>(trace_.events.size(), 1));
    }
    [[nodiscard]] double y_of(double bytes) const { return below - (below - above) * bytes / top_; }
    /// At most two decimals, without trailing zeros.
    [[nodiscard]] static std::string text(double value);
    [[nodiscard]] static std::string escaped(std::string_view raw);
    /// A name's end, where the line number is, if the name is too long.
    [[nodiscard]] static std::string shortened(const std::string& name);
    [[nodiscard]] static std::string label(Point at, Look look, std::string_view words) {
        return "<text x=\"" + text(at.x) + "\" y=\"" + text(at.y) + "\" text-anchor=\"" + std::string{look.anchor} + "\" " +
               std::string{look.attributes} + ">" + escaped(words) + "</text>\n";
    }
    [[nodiscard]] static std::string line(Point from, Point to, std::string_view more) {
        return "<line x1=\"" + text(from.x) + "\" y1=\"" + text(from.y) + "\" x2=\"" + text(to.x) + "\" y2=\"" + text(to.y) + "\" " +
               std::string{more} + "/>\n";
    }

    void add_phases(std::string& out) const;
    void add_axis(std::string& out) const;
    void add_layers(std::string& out) const;
    /// Adds below the picture what each layer holds at the peak. Returns the height of the whole.
    double add_legend(std::string& out) const;
    void add_peak(std::string& out) const;

    const AllocationTrace& trace_;
    TraceLayers layers_;
    TracePeak peak_;
    std::vector<std::vector<std::int64_t>> columns_;
    std::int64_t unit_ = 1;  ///< bytes
    double tick_ = 1;        ///< bytes
    double top_ = 1;         ///< bytes
};

/// Draws a trace with `title` above it.
[[nodiscard]] inline std::string timeline_svg(const AllocationTrace& trace, std::string_view title, TraceLayers layers) {
    return TraceTimeline{trace, std::move(layers)}.svg(title);
}

/// The same, stacked by part.
[[nodiscard]] inline std::string timeline_svg(const AllocationTrace& trace, std::string_view title) {
    return timeline_svg(trace, title, layers_by_part(trace));
}

}  // namespace hpo::allocator
