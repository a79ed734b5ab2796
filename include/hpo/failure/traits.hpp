// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "hpo/core/failure.hpp"

namespace hpo {

/// Who has to change something so that a failure does not come again.
enum class Blame {
    own,        ///< the attempt: its configuration, its data, or the trainer's code
    neighbour,  ///< another process on the device
    host,       ///< the machine: its memory, its disk, its libraries
    device,     ///< the device itself, or its driver
    unknown,
};

inline constexpr std::array<std::string_view, 5> blame_names{"own", "neighbour", "host", "device", "unknown"};
[[nodiscard]] constexpr std::string_view to_text(Blame blame) { return blame_names[static_cast<std::size_t>(blame)]; }

/// Whether the same attempt, run again in the same way, fails again.
enum class Recurrence {
    deterministic,  ///< it does
    transient,      ///< it may well not: something else was in the way
    unknown,
};

inline constexpr std::array<std::string_view, 3> recurrence_names{"deterministic", "transient", "unknown"};
[[nodiscard]] constexpr std::string_view to_text(Recurrence recurrence) { return recurrence_names[static_cast<std::size_t>(recurrence)]; }

/// What follows from a failure's kind, cause and code.
struct FailureTraits {
    Blame blame = Blame::unknown;
    Recurrence recurrence = Recurrence::unknown;
    bool sticky = false;  ///< the process that met it can do nothing more on the device
    /// The failure may follow from the trial's parameters alone: memory that they need, or a loss that they let diverge. Another trial may
    /// do well. If not set, a trial with other parameters likely fails in the same way.
    bool follows_parameters = false;
    friend bool operator==(const FailureTraits&, const FailureTraits&) = default;
};

namespace detail {

/// By FailureKind, in its order.
inline constexpr std::array<FailureTraits, failure_kind_names.size()> kind_traits{{
    {Blame::own, Recurrence::unknown, false, true},          // out_of_memory: see memory_traits
    {Blame::host, Recurrence::unknown, false, true},         // host_out_of_memory
    {Blame::own, Recurrence::unknown, true, false},          // cuda_sticky
    {Blame::device, Recurrence::transient, false, false},    // cuda_transient
    {Blame::device, Recurrence::unknown, true, false},       // hardware
    {Blame::own, Recurrence::deterministic, false, true},    // non_finite
    {Blame::own, Recurrence::deterministic, false, false},   // bad_batch
    {Blame::unknown, Recurrence::unknown, false, false},     // timeout
    {Blame::unknown, Recurrence::unknown, true, false},      // crash
    {Blame::own, Recurrence::deterministic, false, false},   // trainer_error
    {Blame::unknown, Recurrence::transient, true, false},    // lost_worker
    {Blame::own, Recurrence::deterministic, false, false},   // script_error
    {Blame::own, Recurrence::deterministic, false, true},    // predicted_oom
    {Blame::host, Recurrence::deterministic, false, false},  // environment
    {Blame::own, Recurrence::deterministic, false, false},   // data
}};

/// By OomCause, in its order.
inline constexpr std::array<FailureTraits, oom_cause_names.size()> memory_traits{{
    {Blame::own, Recurrence::deterministic, false, true},    // capacity
    {Blame::own, Recurrence::unknown, false, true},          // fragmentation
    {Blame::own, Recurrence::transient, false, false},       // leak: an earlier trial's, gone with its process
    {Blame::neighbour, Recurrence::transient, false, true},  // neighbour
    {Blame::own, Recurrence::deterministic, false, true},    // limit
    {Blame::host, Recurrence::unknown, false, true},         // host
    {Blame::own, Recurrence::deterministic, false, true},    // workspace
    {Blame::own, Recurrence::unknown, false, true},          // unknown
}};

}  // namespace detail

/// The traits of a failure. A device-side assert (code 710) is deterministic, because an index or a label was out of range.
[[nodiscard]] constexpr FailureTraits traits_of(const Failure& failure) {
    if (failure.cause && is_memory(failure.kind)) return detail::memory_traits[static_cast<std::size_t>(*failure.cause)];
    FailureTraits traits = detail::kind_traits[static_cast<std::size_t>(failure.kind)];
    constexpr std::int64_t device_side_assert = 710;
    if (failure.code == device_side_assert) traits.recurrence = Recurrence::deterministic;
    return traits;
}

}  // namespace hpo
