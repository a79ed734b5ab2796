// SPDX-License-Identifier: MIT
#include "hpo/allocator/trace_layers.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "hpo/allocator/trace_report.hpp"

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

}  // namespace hpo::allocator
