// SPDX-License-Identifier: MIT
//
// Whatever a file holds, reading it as a memory snapshot ends with a snapshot that can be replayed, or with an hpo::Error of one line.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/allocator/replay.hpp"
#include "hpo/allocator/snapshot/growth.hpp"
#include "hpo/allocator/snapshot/recording.hpp"
#include "hpo/allocator/snapshot/reproduction.hpp"
#include "hpo/allocator/snapshot/source_lines.hpp"
#include "hpo/allocator/snapshot/what_if.hpp"
#include "hpo/allocator/snapshot/write_snapshot.hpp"
#include "hpo/allocator/trace_report.hpp"
#include "hpo/base/error.hpp"

namespace {

using namespace hpo::allocator;

[[noreturn]] void wrong(const char* what) {
    std::cerr << "snapshot_fuzz: " << what << '\n';
    std::abort();
}

/// The model's own file of a trace says the same again.
void write_and_read(const AllocationTrace& trace, const WrittenSettings& settings) {
    const Snapshot again = decode_snapshot({encode_snapshot(trace, settings), "f"});
    const DeviceHistory history = device_history(again, 0, settings.settings);
    if (history.contradictions > 0) wrong("a written snapshot contradicts itself");
    std::size_t taken = 0;
    for (const std::int64_t event : trace.events) taken += event >= 0 ? 1 : 0;
    if (reproduce(history, settings.settings).allocations != taken) wrong("a written snapshot has not every allocation");
}

void ask_what_if(const Recording& recording) {
    const WhatIfQuestion question{recording.settings.version, std::int64_t{8} << 30};
    std::vector<WhatIf> rows{what_if(recording.trace, recording.conf, question)};
    for (const char* const conf : {"expandable_segments:True", "max_split_size_mb:32"}) {
        try {
            rows.push_back(what_if(recording.trace, conf, question));
        } catch (const hpo::Error&) {  // an older version does not know it
        }
    }
    for (const WhatIf& each : rows) {
        if (each.least_capacity > each.capacity_without_retry) wrong("it needs more with retries than without");
    }
    static_cast<void>(worth_setting(rows));
}

void replay(const Snapshot& snapshot, int device, const AllocatorSettings& settings) {
    const DeviceHistory history = device_history(snapshot, device, settings);
    const Reproduction found = reproduce(history, settings);
    if (found.same_address > found.allocations || found.same_changes > found.segment_changes) wrong("more is the same than there is");
    if (found.held.size() != history.requests.size()) wrong("a request without what was held after it");
    AllocationTrace trace = requested_trace(history, found.emptied);
    if (trace.blocks.size() != history.blocks.size()) wrong("a block is lost");
    describe_trace(trace, history, SourceLines{snapshot});
    static_cast<void>(growing_scopes(trace, traced_steps(trace)));
    if (moment_after(trace, requested_peak(trace).event).bytes != requested_peak(trace).bytes) wrong("two peaks");
    const AllocatorCounts counts = simulate(trace, settings).counts;
    if (counts.reserved_peak < counts.allocated_peak) wrong("peaks in disorder");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        const Snapshot snapshot = decode_snapshot({std::string{reinterpret_cast<const char*>(data), size}, "f"});
        const AllocatorSettings expandable{.expandable_segments = true};
        for (const int device : snapshot.devices()) {
            replay(snapshot, device, {});
            replay(snapshot, device, expandable);
        }
        for (const auto& version : {std::optional<LibTorchVersion>{}, std::optional{LibTorchVersion{2, 1}}}) {
            const Recording recording = recording_of(snapshot, "f", {.device = {}, .version = version});
            if (recording.trace.events.empty()) continue;       // a state in which nobody holds anything
            if (recording.trace.events.size() > 400) continue;  // each question replays many times
            ask_what_if(recording);
            write_and_read(recording.trace, {recording.settings, recording.conf});
        }
    } catch (const hpo::Error& error) {
        const std::string_view text = error.what();
        if (!text.starts_with("f: ")) wrong("an error without its place");
        if (text.find('\n') != std::string_view::npos) wrong("an error is not one line");
    }
    return 0;
}
