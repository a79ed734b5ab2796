// SPDX-License-Identifier: MIT
#include "analyze/shown/snapshot_notes.hpp"

#include <algorithm>

#include "hpo/base/bytes.hpp"
#include "support/text.hpp"

namespace hpo::analyze {

using hpo::format_bytes;
using hpo::tools::counted;

namespace {

/// Frames of C++ have scopes or templates in their names.
bool python_alone(const hpo::allocator::Snapshot& snapshot) {
    return snapshot.frames.size() > 1 && std::ranges::none_of(snapshot.frames, [&](const hpo::allocator::Frame& each) {
               return snapshot.texts[each.function].find("::") != std::string::npos;
           });
}

bool captured_graphs(const hpo::allocator::Snapshot& snapshot) {
    return std::ranges::any_of(snapshot.texts, [](const std::string& each) { return each.ends_with("torch/cuda/graphs.py"); });
}

void add_notes_on_events(const SnapshotReport& report, std::vector<std::string>& notes) {
    const auto& history = report.recording.history;
    const auto& snapshot = report.recording.snapshot;
    if (history.contradictions > 0) {
        notes.push_back("events are missing: " + counted(history.contradictions, "contradiction") +
                        " among the rest. A larger max_entries of _record_memory_history() keeps more");
    }
    if (snapshot.events_of(report.recording.device).size() == 1 && report.earlier_blocks > 0)
        notes.push_back("only 1 event was kept: max_entries was 1, as it is by default in PyTorch 2.0");
    if (!report.state && (report.earlier_blocks > 0 || history.earlier_reserved_bytes > 0)) {
        notes.push_back(
            "the recording begins in the middle, or its first events were overwritten: " + counted(report.earlier_blocks, "block") +
            " and " + format_bytes(history.earlier_reserved_bytes) + " reserved were there before");
    }
    if (report.refused && report.refused->capacity() < report.reserved_peak) {
        notes.push_back("the allocator had " + format_bytes(report.reserved_peak) + " earlier, and could have only " +
                        format_bytes(report.refused->capacity()) + " when memory ran out: something else took memory of the device");
    }
    for (const int each : report.recording.devices) {
        const auto events = snapshot.events_of(each);
        if (each != report.recording.device &&
            std::ranges::find(events, hpo::allocator::Event::Action::out_of_memory, &hpo::allocator::Event::action) != events.end())
            notes.push_back("device " + std::to_string(each) + " ran out of memory, too: --device " + std::to_string(each));
    }
    if (history.mixed) notes.push_back("the recording has usual and expandable segments; the model has one kind at a time");
    if (report.private_pools > 0) notes.push_back("private pools (of CUDA graphs) are kept apart: " + std::to_string(report.private_pools));
    else if (captured_graphs(snapshot))
        notes.push_back("CUDA graphs were captured, and their private pools are gone: they are replayed as if they were not private");
    if (report.parts_known && python_alone(snapshot))
        notes.push_back("the stacks have lines of Python only, so some gradients count as activations; stacks=\"all\" tells them apart");
    if (history.uncertain_blocks > 0 && !report.state)
        notes.push_back("of " + counted(history.uncertain_blocks, "block") + " from before the recording the size is known to 1 MiB only");
    if (snapshot.unknown_actions > 0) notes.push_back(counted(snapshot.unknown_actions, "event") + " of an unknown kind left out");
}

void add_notes_on_settings(const SnapshotReport& report, std::vector<std::string>& notes) {
    const auto& recording = report.recording;
    for (const std::string& each : recording.left_out) notes.push_back("a recorded setting is not known here and left out: " + each);
    if (recording.expandable_unused)
        notes.push_back("expandable_segments:True was recorded, but the segments are usual ones: the platform seems not to have them");
    if (recording.conf.find("garbage_collection_threshold") != std::string::npos)
        notes.push_back("what garbage collection gave back to the device counts as retries: the recording does not tell them apart");
    if (!recording.snapshot.settings)
        notes.push_back("the settings were not recorded (PyTorch writes them since 2.3); they are guessed from the segments");
}

}  // namespace

std::vector<std::string> snapshot_notes(const SnapshotReport& report) {
    std::vector<std::string> notes;
    add_notes_on_events(report, notes);
    add_notes_on_settings(report, notes);
    if (report.recording.replay.unexplained > 0) {
        notes.push_back(
            counted(report.recording.replay.unexplained, "time") +
            " memory went back to the device within a request. No stack says whether for a retry or by empty_cache() before it. "
            "Below it counts as a retry, so the figures may be too high");
    }
    if (report.state) return notes;
    const std::int64_t modelled = report.rows.front().reserved_peak;
    if (50 * (report.reserved_peak - modelled) > report.reserved_peak) {
        notes.push_back("the table begins with the live blocks only. So its recorded settings reserve " + format_bytes(modelled) +
                        ", while the recording has " + format_bytes(report.reserved_peak));
    }
    return notes;
}

}  // namespace hpo::analyze
