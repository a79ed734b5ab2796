// SPDX-License-Identifier: MIT
// Prints how long the allocator's model takes for 10^6 events of a training, and for the capacity that a training's trace needs.
#include <cstdio>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "hpo/allocator/capacity_need.hpp"
#include "hpo/core/seed.hpp"

namespace {

using hpo::allocator::AllocationTrace;

/// Training steps of an encoder, as its layers take and give back: weights, optimizer state, activations that the backward pass frees in
/// reverse, and short-lived blocks in between.
AllocationTrace encoder_trace(std::size_t events, int layers) {
    hpo::Rng rng{1};
    AllocationTrace trace;
    trace.enter("build");
    const std::int64_t width = 768;
    for (int i = 0; i < 3 * 16 * layers; ++i) trace.take({.bytes = 4 * width * (i % 4 == 0 ? width : i % 4 == 1 ? 4 * width : 1)});
    while (trace.events.size() < events) {
        const auto tokens = static_cast<std::int64_t>(8 * (64 + rng.below(65)));
        std::vector<std::int64_t> saved;
        trace.enter("forward");
        for (int i = 0; i < 16 * layers; ++i) {
            const std::int64_t passing = trace.take({.bytes = 4 * tokens * width});
            saved.push_back(trace.take({.bytes = i % 3 == 0 ? 16 * tokens * width : 4 * tokens * width}));
            trace.give_back(passing);
        }
        trace.enter("backward");
        std::vector<std::int64_t> gradients;
        for (; !saved.empty(); saved.pop_back()) {
            const std::int64_t passing = trace.take({.bytes = 4 * tokens * width});
            gradients.push_back(trace.take({.bytes = 4 * width * (gradients.size() % 4 == 0 ? width : 1)}));
            trace.give_back(saved.back());
            trace.give_back(passing);
        }
        trace.enter("step");
        for (const std::int64_t gradient : gradients) trace.give_back(gradient);
    }
    return trace;
}

/// Blocks of every size in no order, thousands of them alive.
AllocationTrace disorder(std::size_t events) {
    hpo::Rng rng{2};
    AllocationTrace trace;
    std::vector<std::int64_t> live;
    while (trace.events.size() < events) {
        if (live.size() > 8000 || (!live.empty() && rng.below(2) == 0)) {
            std::swap(live[rng.below(live.size())], live.back());
            trace.give_back(live.back());
            live.pop_back();
        } else {
            live.push_back(trace.take({.bytes = std::int64_t{1} << rng.below(25) | static_cast<std::int64_t>(rng.below(1 << 20))}));
        }
    }
    return trace;
}

double seconds_since(std::clock_t start) { return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC; }

void replay(const std::string& name, const AllocationTrace& trace, const hpo::allocator::AllocatorSettings& settings) {
    const std::clock_t start = std::clock();
    const auto result = hpo::allocator::simulate(trace, settings);
    std::printf("%-34s %8zu events  %6.3f s  reserved %6lld MiB\n", name.c_str(), trace.events.size(), seconds_since(start),
                static_cast<long long>(result.counts.reserved_peak >> 20));
}

void need(const std::string& name, const AllocationTrace& trace, const hpo::allocator::AllocatorSettings& settings) {
    const std::clock_t start = std::clock();
    const auto found = hpo::allocator::capacity_need(trace, settings);
    std::printf("%-34s %8zu events  %6.3f s  need %6lld MiB  comfort %6lld MiB  allocated %6lld MiB  %d replays\n", name.c_str(),
                trace.events.size(), seconds_since(start), static_cast<long long>(found.need >> 20),
                static_cast<long long>(found.comfort >> 20), static_cast<long long>(found.unlimited.counts.allocated_peak >> 20),
                found.replays);
}

}  // namespace

int main() {
    const hpo::allocator::AllocatorSettings usual;
    const hpo::allocator::AllocatorSettings expandable{.expandable_segments = true};
    const AllocationTrace training = encoder_trace(1000000, 12);
    const AllocationTrace disordered = disorder(1000000);
    replay("training, usual", training, usual);
    replay("training, expandable segments", training, expandable);
    replay("disorder, usual", disordered, usual);
    replay("disorder, expandable segments", disordered, expandable);
    const AllocationTrace steps = encoder_trace(5000, 12);
    need("need of a few steps, usual", steps, usual);
    need("need of a few steps, expandable", steps, expandable);
}
