// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/attributes.hpp"
#include "hpo/core/failure.hpp"
#include "hpo/core/fields.hpp"
#include "hpo/core/memory_reading.hpp"
#include "hpo/core/value.hpp"

namespace hpo {

/// An intermediate value for the pruner: the objective at a step.
struct Report {
    std::int64_t step = 0;
    double value = 0;
    bool is_last = false;  ///< the training ends with this step, so stopping saves no time and the trial is not pruned

    static constexpr void fields(auto field) {
        field("step", &Report::step);
        field("value", &Report::value);
        field("last", &Report::is_last);
    }
};

/// The answer to a program that asks for a parameter while it runs.
struct Suggestion {
    Value value{};
    std::string error{};  ///< what is wrong with the question; empty: nothing, and `value` is the parameter's

    static constexpr void fields(auto field) {
        field("value", &Suggestion::value);
        field("error", &Suggestion::error);
    }
};

enum class OutcomeKind {
    complete,     ///< ran to its end; `values` holds one number for each objective
    stopped,      ///< stopped on request (pruned), or by itself (AttemptOutcome::prunes_itself)
    failed,       ///< `failure` says why
    interrupted,  ///< ended because the study was stopped; it says nothing about the trial
};
inline constexpr std::array<std::string_view, 4> outcome_kind_names{"complete", "stopped", "failed", "interrupted"};
template <>
struct EnumNames<OutcomeKind> {
    static constexpr auto& names = outcome_kind_names;
};

[[nodiscard]] constexpr std::string_view to_text(OutcomeKind kind) { return outcome_kind_names[static_cast<std::size_t>(kind)]; }

/// How one attempt ended. A value, never an exception.
struct AttemptOutcome {
    OutcomeKind kind = OutcomeKind::failed;
    std::vector<double> values;
    std::optional<Failure> failure;
    std::vector<MemoryMark> memory;  ///< marks that were not delivered while the attempt ran
    std::optional<std::int64_t> peak_allocated;
    std::optional<std::int64_t> peak_reserved;
    bool prunes_itself = false;  ///< of kind stopped: nobody asked for it, but the trial found itself not worth finishing
    bool heard_verdict = false;  ///< with prunes_itself: its latest question was answered with the pruner's verdict that it should end
    std::string prune_reason;    ///< with prunes_itself: why, in the trial's own words
    bool approximate = false;    ///< the plan changed the computation beyond rounding (batch norm over micro-batches)
    Attributes attributes;       ///< the trainer's own, for the trial's user attributes
    std::map<std::string, double, std::less<>> constraints;  ///< the trainer's own, for the trial's; above 0 is a violation
    std::string log;                                         ///< what the attempt wrote; a long log is cut in the middle
    std::int64_t worker_pid = 0;
    double seconds = 0;
    double idle_seconds = 0;  ///< at the end, in which nothing of the attempt ran any more; the worker takes them off `seconds`

    static constexpr void fields(auto field) {
        field("kind", &AttemptOutcome::kind);
        field("values", &AttemptOutcome::values);
        field("failure", &AttemptOutcome::failure);
        field("memory", &AttemptOutcome::memory);
        field("peak_allocated", &AttemptOutcome::peak_allocated, {.unit = Unit::bytes});
        field("peak_reserved", &AttemptOutcome::peak_reserved, {.unit = Unit::bytes});
        field("prunes_itself", &AttemptOutcome::prunes_itself);
        field("heard_verdict", &AttemptOutcome::heard_verdict);
        field("prune_reason", &AttemptOutcome::prune_reason);
        field("approximate", &AttemptOutcome::approximate);
        field("attributes", &AttemptOutcome::attributes);
        field("constraints", &AttemptOutcome::constraints);
        field("log", &AttemptOutcome::log, {.is_local = true});
        field("worker_pid", &AttemptOutcome::worker_pid);
        field("seconds", &AttemptOutcome::seconds);
        field("idle_seconds", &AttemptOutcome::idle_seconds, {.is_local = true});
    }
};

}  // namespace hpo
