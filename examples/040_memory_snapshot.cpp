// SPDX-License-Identifier: MIT
// Asks a memory snapshot of PyTorch three questions: is it understood, who held most, and what would expandable segments have taken?
//   040_memory_snapshot FILE
#include <cstdio>
#include <string>

#include "hpo/allocator/snapshot/recording.hpp"
#include "hpo/allocator/snapshot/what_if.hpp"
#include "hpo/allocator/trace_report.hpp"
#include "hpo/base/error.hpp"

int main(int argc, char** argv) try {
    namespace allocator = hpo::allocator;
    const allocator::Recording recording = allocator::open_recording(argc > 1 ? argv[1] : "memory.pickle");

    const allocator::Reproduction& replay = recording.replay;
    std::printf("%zu of %zu allocations at the recorded address\n", replay.same_address, replay.allocations);

    const allocator::AllocationTrace& trace = recording.trace;
    const allocator::TraceMoment peak = allocator::moment_after(trace, allocator::requested_peak(trace).event);
    for (const allocator::ScopeShare& line : peak.scopes)
        std::printf("%5lld MiB  %s\n", static_cast<long long>(line.bytes >> 20), line.scope.c_str());

    for (const std::string conf : {"", "expandable_segments:True"}) {
        const allocator::WhatIf row = allocator::what_if(trace, conf, {});
        std::printf("%5lld MiB reserved with '%s'\n", static_cast<long long>(row.reserved_peak >> 20), conf.c_str());
    }
    return 0;
} catch (const hpo::Error& error) {
    std::fprintf(stderr, "040_memory_snapshot: error: %s\n", error.what());
    return exit_code(error.code());
}
