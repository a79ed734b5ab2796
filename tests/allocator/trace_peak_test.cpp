// SPDX-License-Identifier: MIT
#include "hpo/allocator/trace_peak.hpp"

#include <cstdint>
#include <map>
#include <string>

#include "hpo/allocator/cuda_overheads.hpp"
#include "support/catch.hpp"

using namespace hpo::allocator;

namespace {

/// A step with one block for each part at its peak, which is in the backward pass.
AllocationTrace one_step() {
    AllocationTrace trace;
    trace.enter("build");
    trace.give_back(trace.take({.bytes = 5000}));  // drawn, and let go
    trace.take({.bytes = 1});                      // weights
    trace.enter("step");
    trace.take({.bytes = 10});  // optimizer
    trace.enter("batch");
    const auto batch = trace.take({.bytes = 100});
    trace.enter("forward");
    trace.give_back(trace.take({.bytes = 300}));
    const auto activations = trace.take({.bytes = 1000});
    trace.enter("backward");
    const auto gradients = trace.take({.bytes = 10000});
    trace.give_back(trace.take({.bytes = 100000}));  // the peak
    trace.give_back(activations);
    trace.enter("step");
    for (const auto block : {batch, gradients}) trace.give_back(block);
    return trace;
}

std::map<std::string, std::int64_t> parts_of(const AllocationTrace& trace) {
    std::map<std::string, std::int64_t> parts;
    for (const auto& part : parts_after(trace, requested_peak(trace).event)) parts[part.name] = part.bytes;
    return parts;
}

}  // namespace

TEST_CASE("a peak is told with what it is made of") {
    const AllocationTrace trace = one_step();
    CHECK(requested_peak(trace).bytes == 111111);
    CHECK(parts_of(trace) == std::map<std::string, std::int64_t>{
                                 {"weights", 1}, {"optimizer", 10}, {"activations", 1100}, {"gradients", 10000}, {"workspace", 100000}});
    CHECK(requested_peak(AllocationTrace{}).bytes == 0);
    CHECK(parts_of(AllocationTrace{}).at("weights") == 0);
}

TEST_CASE("cuBLAS takes a workspace in the first forward pass and one in the first backward pass, and keeps them") {
    const AllocationTrace trace = with_cublas_workspaces(one_step(), 1'000'000);
    CHECK(requested_peak(trace).bytes == 2'111'111);
    CHECK(parts_of(trace).at("weights") == 1);
    CHECK(trace.events.size() == one_step().events.size() + 2);
    CHECK(with_cublas_workspaces(one_step(), 0) == one_step());
    CHECK(usual_cuda_overheads({1, 13}).cublas_workspace_bytes == 0);
    CHECK(usual_cuda_overheads({2, 6}).cublas_workspace_bytes == 2 * (4096 << 10) + 8 * (16 << 10));
}
