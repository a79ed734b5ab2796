// SPDX-License-Identifier: MIT
#include "hpo/allocator/trace_report.hpp"

#include <algorithm>
#include <string>

#include "allocator/random_trace.hpp"
#include "hpo/allocator/trace_timeline.hpp"
#include "support/catch.hpp"

using namespace hpo::allocator;

namespace {

/// One step: 100 bytes of weights, 10 of a batch, 40 of activations, 60 of a gradient beside 5 of workspace, 200 of the optimizer.
AllocationTrace one_whole_step() {
    AllocationTrace trace;
    trace.scopes = {"", "encoder", "head <&>"};
    trace.enter("build");
    trace.take({.bytes = 60, .scope = 1});
    trace.take({.bytes = 40, .scope = 2});
    trace.enter("batch");
    const auto batch = trace.take({.bytes = 10});
    trace.enter("forward");
    const auto kept = trace.take({.bytes = 40, .scope = 1});
    trace.enter("backward");
    const auto passing = trace.take({.bytes = 5, .scope = 1});
    const auto gradient = trace.take({.bytes = 60, .scope = 1});
    trace.give_back(passing);
    trace.give_back(kept);
    trace.give_back(batch);
    trace.enter("step");
    trace.take({.bytes = 200, .scope = 2});
    trace.give_back(gradient);
    return trace;
}

}  // namespace

TEST_CASE("a moment tells what was alive by part and by scope") {
    const AllocationTrace trace = one_whole_step();
    const TraceMoment backward = moment_after(trace, 5);
    CHECK(backward.phase == "backward");
    CHECK(backward.bytes == 215);
    CHECK(backward.blocks == 6);
    CHECK(backward.parts == PartBytes{100, 60, 0, 50, 5});
    REQUIRE(backward.scopes.size() == 3);
    CHECK(backward.scopes[0] == ScopeShare{"encoder", 4, 165, {60, 60, 0, 40, 5}});
    CHECK(backward.scopes[1] == ScopeShare{"head <&>", 1, 40, {40, 0, 0, 0, 0}});
    CHECK(backward.scopes[2] == ScopeShare{"", 1, 10, {0, 0, 0, 10, 0}});
    CHECK(moment_after(trace, requested_peak(trace).event).parts == PartBytes{100, 60, 200, 0, 0});
    CHECK(moment_after({}, 0).bytes == 0);
}

TEST_CASE("each phase has its peak") {
    const AllocationTrace trace = one_whole_step();
    const auto peaks = phase_peaks(trace);
    CHECK(peaks == std::vector<PhasePeak>{
                       {"build", 100, 1, 1}, {"batch", 110, 2, 1}, {"forward", 150, 3, 1}, {"backward", 215, 5, 1}, {"step", 360, 9, 1}});
}

TEST_CASE("the parts of any moment sum up to its bytes, and to what the peak says") {
    hpo::Rng rng{8};
    for (int round = 0; round < 200; ++round) {
        AllocationTrace trace = hpo::tests::random_trace(rng, 100);
        static constexpr std::array<const char*, 6> names{"build", "batch", "forward", "backward", "step", "evaluation"};
        for (std::size_t at = rng.below(10); at < 100; at += rng.below(20)) trace.phases.push_back({at, names[rng.below(names.size())]});
        const TracePeak peak = requested_peak(trace);
        const TraceMoment moment = moment_after(trace, peak.event);
        CHECK(moment.bytes == peak.bytes);
        std::int64_t scopes = 0;
        for (const ScopeShare& share : moment.scopes) scopes += share.bytes;
        CHECK(scopes == peak.bytes);
        const auto parts = parts_after(trace, peak.event);
        std::int64_t highest = 0;
        for (const PhasePeak& each : phase_peaks(trace)) highest = std::max(highest, each.bytes);
        CHECK(highest <= peak.bytes);
        for (std::size_t i = 0; i < parts.size(); ++i) CHECK(parts[i].bytes == moment.parts[i]);
    }
}

TEST_CASE("the timeline is one document that shows the peak, the phases and the parts") {
    const std::string svg = timeline_svg(one_whole_step(), "one <step>");
    CHECK(svg.starts_with("<svg xmlns="));
    CHECK(svg.ends_with("</svg>\n"));
    CHECK(svg.find(">one &lt;step></text>") != std::string::npos);
    CHECK(svg.find(">peak 360 bytes after event 10, step</text>") != std::string::npos);
    CHECK(svg.find(">optimizer 200 bytes</text>") != std::string::npos);
    CHECK(svg.find(">backward</text>") != std::string::npos);
    CHECK(svg.find(">400 bytes</text>") != std::string::npos);
    CHECK(svg.find("href") == std::string::npos);
    CHECK(svg.find("nan") == std::string::npos);
    CHECK(timeline_svg({}, "nothing").find(">peak ") == std::string::npos);
}

TEST_CASE("a timeline may be stacked by scope: the largest at the peak, and the others") {
    AllocationTrace trace;
    trace.scopes = {"", "a.py:1 f", "b.py:2 g", "c.py:3 h", std::string(150, 'd') + ".py:4 i"};
    for (std::uint32_t scope = 1; scope <= 4; ++scope) trace.take({.bytes = 100 * scope, .scope = scope});
    const TraceLayers layers = layers_by_scope(trace, 3, 3);
    CHECK(layers.names == std::vector<std::string>{trace.scopes[4], "c.py:3 h", "others"});
    CHECK(layers.of_block == std::vector<std::size_t>{2, 2, 1, 0});
    const std::string svg = timeline_svg(trace, "lines", layers);
    CHECK(svg.find(">c.py:3 h 300 bytes</text>") != std::string::npos);
    CHECK(svg.find(">others 300 bytes</text>") != std::string::npos);
    CHECK(svg.find(">..." + std::string(93, 'd') + ".py:4 i 400 bytes</text>") != std::string::npos);
    CHECK(layers_by_scope(trace, 3, 9).names.size() == 5);
    CHECK(layers_by_scope({}, 0, 3).names == std::vector<std::string>{"others"});
}

TEST_CASE("a timeline of many events stays small and keeps a peak of one event") {
    AllocationTrace trace;
    trace.enter("forward");
    for (int i = 0; i < 100000; ++i) {
        const auto block = trace.take({.bytes = i == 77777 ? std::int64_t{3} << 30 : 1 << 20});
        trace.give_back(block);
    }
    const std::string svg = timeline_svg(trace, "spike");
    CHECK(svg.size() < 300000);
    CHECK(svg.find(">peak 3.00 GiB after event 155555, forward</text>") != std::string::npos);
    CHECK(svg.find(">3 GiB</text>") != std::string::npos);
}
