// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/allocator/allocation_trace.hpp"
#include "hpo/allocator/trace_peak.hpp"
#include "hpo/allocator/trace_report.hpp"

namespace hpo::allocator {

/// A trace as a picture: the requested bytes of live blocks over the events, stacked by part. Phases and the peak are marked. The result is
/// one self-contained SVG document. A column of the picture shows the highest of its events, so that no peak is lost.
class TraceTimeline {
public:
    /// `names` are what the parts are called in the picture.
    explicit TraceTimeline(const AllocationTrace& trace, const TracePartNames& names = trace_part_names);

    [[nodiscard]] std::string svg(std::string_view title) const;

private:
    static constexpr double width = 1000;
    static constexpr double height = 460;
    static constexpr double left = 84;
    static constexpr double right = 980;
    static constexpr double above = 96;
    static constexpr double below = 420;
    static constexpr std::array<std::string_view, trace_part_names.size()> colours{"#3b6ea8", "#c8553d", "#e0a030", "#5a9e6f", "#9b8ab8"};
    struct Point {
        double x = 0;
        double y = 0;
    };
    struct Look {
        std::string_view anchor = "start";  ///< which end of the text is at its point
        std::string_view attributes{};      ///< further attributes of the SVG element
    };

    /// The highest moment of each column, as cumulative sums of its parts from below.
    [[nodiscard]] static std::vector<PartBytes> columns_of(const AllocationTrace& trace);

    [[nodiscard]] double x_of(std::size_t event) const {
        return left + (right - left) * static_cast<double>(event) / static_cast<double>(std::max<std::size_t>(trace_.events.size(), 1));
    }
    [[nodiscard]] double y_of(double bytes) const { return below - (below - above) * bytes / top_; }
    /// At most two decimals, without trailing zeros.
    [[nodiscard]] static std::string text(double value);
    [[nodiscard]] static std::string escaped(std::string_view raw);
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
    void add_parts(std::string& out) const;
    void add_peak(std::string& out) const;

    const AllocationTrace& trace_;
    TracePartNames names_;
    TracePeak peak_;
    std::vector<PartBytes> columns_;
    std::int64_t unit_ = 1;  ///< bytes
    double tick_ = 1;        ///< bytes
    double top_ = 1;         ///< bytes
};

/// Draws a trace with `title` above it.
[[nodiscard]] inline std::string timeline_svg(const AllocationTrace& trace, std::string_view title,
                                              const TracePartNames& names = trace_part_names) {
    return TraceTimeline{trace, names}.svg(title);
}

}  // namespace hpo::allocator

#ifndef HPO_COMPILED
#include "hpo/allocator/impl/trace_timeline_inl.hpp"
#endif
