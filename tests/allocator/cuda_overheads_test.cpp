// SPDX-License-Identifier: MIT
#include "hpo/allocator/cuda_overheads.hpp"

#include <numeric>

#include "hpo/allocator/cublas_workspace.hpp"
#include "hpo/allocator/trace_peak.hpp"
#include "support/catch.hpp"

using namespace hpo::allocator;

namespace {

std::int64_t sum(const std::vector<hpo::EstimatePart>& parts) {
    return std::accumulate(parts.begin(), parts.end(), std::int64_t{0},
                           [](std::int64_t bytes, const hpo::EstimatePart& part) { return bytes + part.bytes; });
}
std::int64_t bytes_of(const std::vector<hpo::EstimatePart>& parts, std::string_view name) {
    for (const hpo::EstimatePart& part : parts) {
        if (part.name == name) return part.bytes;
    }
    return -1;
}

/// A model of `weights`, then a step that holds `activations` for a while.
AllocationTrace training(std::int64_t while_building, std::int64_t activations) {
    AllocationTrace trace;
    trace.enter("build");
    trace.take({.bytes = 1000});
    trace.give_back(trace.take({.bytes = while_building}));
    trace.enter("forward");
    const auto held = trace.take({.bytes = activations});
    trace.enter("backward");
    trace.give_back(held);
    return with_cublas_workspaces(trace, 50);
}

}  // namespace

TEST_CASE("cuBLAS's workspaces count as workspace at a peak behind the phases that first need them") {
    const AllocationTrace trace = training(10, 5000);
    const TracePeak peak = requested_peak(trace);
    const auto parts = parts_with_cublas(trace, peak.event);
    CHECK(peak.bytes == 1000 + 50 + 5000 + 50);  // the backward pass begins before what the forward pass held is given back
    CHECK(sum(parts) == peak.bytes);
    CHECK(bytes_of(parts, "workspace") == 100);
    CHECK(bytes_of(parts, "weights") == 1000);
    CHECK(bytes_of(parts, "activations") == 5000);
    CHECK(bytes_of(parts, "gradients") == 0);
}

TEST_CASE("a trace that has cuBLAS's workspaces gets no others") {
    const AllocationTrace trace = training(10, 5000);
    CHECK(with_cublas_workspaces(trace, 70) == trace);
}

TEST_CASE("at a peak before the first forward pass there are no workspaces yet") {
    const AllocationTrace trace = training(9000, 100);
    const TracePeak peak = requested_peak(trace);
    const auto parts = parts_with_cublas(trace, peak.event);
    CHECK(peak.bytes == 10'000);
    CHECK(sum(parts) == peak.bytes);
    CHECK(bytes_of(parts, "workspace") == 9000);
}

TEST_CASE("a workspace that was given back before the peak is no part of it") {
    AllocationTrace trace;
    trace.scopes.emplace_back(hpo::allocator::cublaslt_workspace_scope);
    trace.enter("forward");
    const std::int64_t workspace = trace.take({.bytes = 1000, .scope = 1});
    static_cast<void>(trace.take({.bytes = 10}));
    trace.enter("backward");
    trace.give_back(workspace);
    static_cast<void>(trace.take({.bytes = 5000}));
    const TracePeak peak = requested_peak(trace);
    CHECK(peak.bytes == 5010);
    for (const auto& part : parts_with_cublas(trace, peak.event)) CHECK(part.bytes >= 0);
    CHECK(sum(parts_with_cublas(trace, peak.event)) == peak.bytes);
    CHECK(bytes_of(parts_with_cublas(trace, peak.event), "gradients") == 5000);
}

TEST_CASE("cuBLAS's workspace is larger on Hopper, and there alone") {
    using hpo::allocator::ComputeCapability;
    constexpr std::int64_t usual = 8'519'680;
    constexpr std::int64_t large = 33'554'432;
    const auto bytes = [](hpo::allocator::LibTorchVersion version, ComputeCapability device) {
        return usual_cuda_overheads(version, device).cublas_workspace_bytes;
    };
    CHECK(bytes({2, 6}, {8, 9}) == usual);
    CHECK(bytes({2, 6}, {9, 0}) == large);
    CHECK(bytes({2, 6}, {10, 0}) == usual);
    CHECK(bytes({2, 11}, {8, 9}) == usual);
    CHECK(bytes({2, 11}, {9, 0}) == large);
    CHECK(bytes({2, 11}, {10, 0}) == usual);
    CHECK(bytes({2, 11}, {12, 0}) == usual);
    CHECK(bytes({1, 13}, {9, 0}) == 0);
    CHECK(usual_cuda_overheads({2, 11}).cublas_workspace_bytes == usual);
}

TEST_CASE("a compute capability is two numbers") {
    using hpo::allocator::parse_compute_capability;
    CHECK(parse_compute_capability("9.0") == hpo::allocator::ComputeCapability{9, 0});
    CHECK(parse_compute_capability("12.1") == hpo::allocator::ComputeCapability{12, 1});
    for (const char* text : {"", "9", "9.", ".0", "sm_90", "9.0a", "9,0", "-9.0", "9.-1", "0.1", "99999999999.0"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_compute_capability(text));
    }
}

TEST_CASE("CUBLAS_WORKSPACE_CONFIG is the sum of its sizes times their counts, in KiB") {
    using hpo::allocator::configured_cublas_workspace_bytes;
    CHECK(configured_cublas_workspace_bytes(":4096:2:16:8") == 8'519'680);
    CHECK(configured_cublas_workspace_bytes(":4096:8") == 33'554'432);
    CHECK(configured_cublas_workspace_bytes(":0:0") == 0);
    CHECK(configured_cublas_workspace_bytes("x:16:2y:1:1") == 33 * 1024);
    for (const char* text : {"", "4096", ":4096", "::", ":a:b", ":99999999999999999999:1", ":1099511627776:1099511627776"}) {
        CAPTURE(text);
        CHECK_FALSE(configured_cublas_workspace_bytes(text));
    }
}

TEST_CASE("no workspace is taken of a LibTorch that leaves it to cuBLAS") {
    CHECK(usual_cuda_overheads({1, 13}).cublas_workspace_bytes == 0);
    CHECK(usual_cuda_overheads({2, 0}).cublas_workspace_bytes == 8'519'680);
    const AllocationTrace trace = training(10, 5000);
    CHECK(with_cublas_workspaces(trace, 0) == trace);
}
