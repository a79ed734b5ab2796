// SPDX-License-Identifier: MIT
#include "hpo/allocator/cuda_overheads.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/allocator/cublas_workspace.hpp"
#include "hpo/allocator/trace_peak.hpp"

namespace hpo::allocator {

CudaOverheads usual_cuda_overheads(LibTorchVersion version, std::optional<ComputeCapability> device) {
    return {.cublas_workspace_bytes = usual_cublas_workspace_bytes(version, device)};
}

AllocationTrace with_cublas_workspaces(const AllocationTrace& trace, std::int64_t bytes) {
    if (bytes == 0 || std::find(trace.scopes.begin(), trace.scopes.end(), cublas_workspace_scope) != trace.scopes.end()) return trace;
    AllocationTrace result;
    result.scopes = trace.scopes;
    result.libtorch = trace.libtorch;
    result.scopes.emplace_back(cublas_workspace_scope);
    const auto scope = static_cast<std::uint32_t>(result.scopes.size() - 1);
    std::vector<std::int64_t> number(trace.blocks.size());
    std::size_t phase = 0;
    bool forward = false;
    bool backward = false;
    const auto take_once = [&](bool& done) {
        if (!done) result.take({.bytes = bytes, .scope = scope});
        done = true;
    };
    for (std::size_t i = 0; i <= trace.events.size(); ++i) {
        for (; phase < trace.phases.size() && trace.phases[phase].first_event == i; ++phase) {
            const std::string_view name = trace.phases[phase].name;
            result.enter(name);
            if (name == "forward") take_once(forward);
            if (name == "backward") take_once(backward);
        }
        if (i == trace.events.size()) break;
        const std::int64_t event = trace.events[i];
        if (event >= 0) number[static_cast<std::size_t>(event)] = result.take(trace.blocks[static_cast<std::size_t>(event)]);
        else result.give_back(number[static_cast<std::size_t>(-1 - event)]);
    }
    return result;
}

std::vector<EstimatePart> parts_with_cublas(const AllocationTrace& trace, std::size_t event) {
    std::vector<EstimatePart> parts = parts_after(trace, event);
    const std::vector<TracePart> parts_of = parts_of_blocks(trace);
    for (std::size_t i = 0; i < trace.events.size() && i <= event; ++i) {
        const std::size_t block = AllocationTrace::block_of(trace.events[i]);
        const std::string& scope = trace.scopes[trace.blocks[block].scope];
        if (scope != cublas_workspace_scope && scope != cublaslt_workspace_scope) continue;
        const std::int64_t change = trace.change(trace.events[i]);
        parts[static_cast<std::size_t>(parts_of[block])].bytes -= change;
        parts[static_cast<std::size_t>(TracePart::workspace)].bytes += change;
    }
    return parts;
}

}  // namespace hpo::allocator
