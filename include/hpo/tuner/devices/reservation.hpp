// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "hpo/core/trial.hpp"
#include "hpo/recovery/concept.hpp"

namespace hpo::tuner::inline devices {

/// The bytes that an attempt is predicted to take outside of its allocator: a GPU's context. A cap does not count them.
[[nodiscard]] std::int64_t outside_allocator(const Attempt& attempt);

/// The cap of the worker of an attempt that has a reservation: the reservation without `outside_allocator`, or the plan's own cap if that
/// is less. If an attempt has the whole capacity of a CPU, the plan's own cap is enough, because the metered device has no more memory. A
/// GPU may have more, which other processes use.
[[nodiscard]] std::optional<std::int64_t> cap_under_reservation(const Attempt& attempt, std::int64_t reservation_bytes,
                                                                std::optional<std::int64_t> capacity_bytes);

/// True if an attempt ran out of its reservation although its plan and its device would have allowed more.
[[nodiscard]] bool exceeded_reservation(const Attempt& attempt, std::int64_t reservation_bytes, std::optional<std::int64_t> capacity_bytes);

/// The bytes to reserve for the next attempt: half as much again, and at least as much as is known to be required.
[[nodiscard]] std::int64_t larger_reservation(const Attempt& attempt, std::int64_t reservation_bytes);

/// The bytes that a failed attempt is known to have required when it ran out of memory: what it held and what it asked for.
[[nodiscard]] std::int64_t known_requirement(const Attempt& attempt);

/// What is told of an attempt that starts although too little memory was free for as long as it may wait.
[[nodiscard]] std::string waited_in_vain(double seconds);

/// The answer to an attempt that exceeded its reservation: a retry under the same plan, with more memory. The configuration is not to
/// blame.
[[nodiscard]] Recovery ask_for_more(const Attempt& attempt, std::int64_t reservation_bytes);

}  // namespace hpo::tuner::devices

#ifndef HPO_COMPILED
#include "hpo/tuner/devices/impl/reservation_inl.hpp"
#endif
