// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hpo/allocator/allocation_trace.hpp"
#include "hpo/allocator/capacity_need.hpp"
#include "hpo/allocator/replay.hpp"
#include "hpo/allocator/trace_report.hpp"
#include "hpo/core/outcome.hpp"
#include "hpo/core/peak_prediction.hpp"

namespace hpo::tune {

/// What the command line says of a trace.
struct TraceOptions {
    std::string out;        ///< where a script's trace is kept; empty: nowhere
    std::string snapshot;   ///< where it is written as PyTorch writes its own; empty: nowhere
    std::string svg;        ///< where the timeline goes; empty: nowhere
    std::string libtorch;   ///< whose allocator; empty: the trainer's, else the newest that is known
    std::string allocator;  ///< its settings
    std::string capacity;   ///< a device to hold the trace against
    std::size_t top = 15;   ///< scopes that are shown
    bool train = false;     ///< a script's: record real steps
    bool json = false;
};

/// A trace, and which LibTorch's allocator it is for.
struct ShownTrace {
    std::string name;
    allocator::AllocationTrace trace{};
    allocator::AllocatorSettings settings{};
    std::string conf{};                          ///< the text of the settings
    std::optional<PeakPrediction> prediction{};  ///< what the trainer makes of it, where it was asked
    std::optional<AttemptOutcome> measured{};    ///< of the training that was recorded: its peaks as LibTorch counted them
    std::string origin{};                        ///< lines on how it was recorded just now
};

/// What a trace's figures are, from the trace to the device.
struct TraceFigures {
    allocator::TraceMoment peak;
    std::vector<allocator::PhasePeak> phases;
    allocator::CapacityNeed need;
    std::optional<std::int64_t> capacity_bytes;
    allocator::ReplayedTrace at_capacity;

    /// Throws Error{bad_value} for a capacity that is none.
    TraceFigures(const ShownTrace& shown, const TraceOptions& options);
};

/// On standard output.
/// @{
void print_json(const ShownTrace& shown, const TraceFigures& figures, const TraceOptions& options);
void print_text(const ShownTrace& shown, const TraceFigures& figures, const TraceOptions& options);
/// @}

}  // namespace hpo::tune
