// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hpo/core/attributes.hpp"
#include "hpo/core/failure.hpp"
#include "hpo/core/memory_reading.hpp"

namespace hpo {

/// An intermediate value: the objective at a step, for the pruner.
struct Report {
    std::int64_t step = 0;
    double value = 0;
    bool is_last = false;  ///< nothing is left that a stop could save: nobody is pruned here
};

enum class OutcomeKind {
    complete,     ///< ran to its end; `values` holds one number for each objective
    stopped,      ///< obeyed a request to stop (pruned)
    failed,       ///< `failure` says how
    interrupted,  ///< ended because the study was stopped; says nothing about the trial
};

/// How one attempt ended. A value, never an exception.
struct AttemptOutcome {
    OutcomeKind kind = OutcomeKind::failed;
    std::vector<double> values;
    std::optional<Failure> failure;
    std::vector<MemoryMark> memory;  ///< marks not yet delivered while the attempt ran
    std::optional<std::int64_t> peak_allocated;
    std::optional<std::int64_t> peak_reserved;
    bool approximate = false;  ///< the plan changed the computation beyond rounding (batch norm over micro-batches)
    Attributes attributes;     ///< the trainer's own, for the trial's user attributes
    std::string log;           ///< what the attempt wrote, shortened in the middle where it is long
    std::int64_t worker_pid = 0;
    double seconds = 0;
};

}  // namespace hpo
