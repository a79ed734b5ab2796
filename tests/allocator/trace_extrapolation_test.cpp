// SPDX-License-Identifier: MIT
#include "allocator/trace_extrapolation.hpp"

#include <cstdint>
#include <vector>

#include "hpo/allocator/trace_peak.hpp"
#include "support/catch.hpp"

using namespace hpo::allocator;

namespace {

/// Blocks of 100, 16 s, 8 b, 4 b s and 3 b s^2 bytes; the last three live together.
AllocationTrace training(BatchSize size) {
    AllocationTrace trace;
    trace.enter("build");
    trace.take({.bytes = 100});
    trace.take({.bytes = 16 * size.length});
    trace.enter("forward");
    const auto batch = trace.take({.bytes = 8 * size.examples});
    const auto tokens = trace.take({.bytes = 4 * size.examples * size.length});
    const auto pairs = trace.take({.bytes = 3 * size.examples * size.length * size.length});
    for (const auto block : {batch, tokens, pairs}) trace.give_back(block);
    return trace;
}
std::vector<SizedTrace> trainings(const std::vector<BatchSize>& sizes) {
    std::vector<SizedTrace> traces;
    for (const BatchSize size : sizes) traces.push_back({size, training(size)});
    return traces;
}

}  // namespace

TEST_CASE("blocks that grow with examples, tokens and pairs of tokens are extrapolated exactly") {
    const TraceExtrapolation fit{trainings({{2, 32}, {8, 32}, {2, 64}, {8, 64}, {2, 128}, {5, 96}})};
    CHECK(fit.largest_error().value() < 1e-12);
    const BatchSize large{256, 512};
    CHECK(fit.at(large) == training(large));
    CHECK(requested_peak(fit.at(large)).bytes == 100 + 16 * 512 + 256 * (8 + 512 * (4 + 512 * 3)));
}

TEST_CASE("traces of one length are extrapolated over examples alone") {
    const TraceExtrapolation fit{trainings({{2, 32}, {6, 32}, {4, 32}})};
    CHECK(fit.largest_error().value() < 1e-12);
    CHECK(fit.at({1000, 32}) == training({1000, 32}));
}

TEST_CASE("an extrapolation says how far it is off where a block does not grow so") {
    auto traces = trainings({{2, 1}, {6, 1}, {4, 1}});
    for (SizedTrace& each : traces) each.trace.blocks[2].bytes = 1000 * each.size.examples * each.size.examples;
    CHECK(TraceExtrapolation{traces}.largest_error().value() == Approx(0.25).margin(0.02));
    CHECK_FALSE(TraceExtrapolation{trainings({{2, 1}, {6, 1}})}.largest_error());
}

TEST_CASE("what cannot be extrapolated is refused") {
    auto traces = trainings({{2, 32}, {6, 32}});
    traces[1].trace.take({.bytes = 1});
    CHECK_THROWS_WITH(TraceExtrapolation{traces}, Catch::Contains("in another order with batch 6 of length 32 (9 events)"));
    CHECK_THROWS_WITH(TraceExtrapolation{trainings({{2, 32}})}, Catch::Contains("2 traces or more"));
    CHECK_THROWS_WITH(TraceExtrapolation{trainings({{2, 32}, {8, 32}, {2, 64}, {8, 64}})}, Catch::Contains("5 traces or more"));
    CHECK_THROWS_WITH(TraceExtrapolation{trainings({{2, 32}, {2, 32}})}, Catch::Contains("traces of more sizes"));
}
