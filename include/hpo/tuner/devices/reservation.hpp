// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "hpo/base/bytes.hpp"
#include "hpo/core/device_word.hpp"
#include "hpo/core/trial.hpp"
#include "hpo/core/value.hpp"
#include "hpo/failure/cause.hpp"
#include "hpo/guard/predicted_estimate.hpp"
#include "hpo/recovery/concept.hpp"

namespace hpo::tuner {

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

inline std::int64_t outside_allocator(const Attempt& attempt) {
    return attempt.estimate ? guard::bytes_of_part(*attempt.estimate, guard::context_part) : 0;
}

inline std::optional<std::int64_t> cap_under_reservation(const Attempt& attempt, std::int64_t reservation_bytes,
                                                         std::optional<std::int64_t> capacity_bytes) {
    const auto& own = attempt.plan.cap_bytes;
    if (capacity_bytes && reservation_bytes >= *capacity_bytes && is_cpu(attempt.plan.device)) return own;
    const std::int64_t cap = std::max<std::int64_t>(1, reservation_bytes - outside_allocator(attempt));
    return own ? std::min(*own, cap) : cap;
}

inline bool exceeded_reservation(const Attempt& attempt, std::int64_t reservation_bytes, std::optional<std::int64_t> capacity_bytes) {
    if (capacity_bytes && reservation_bytes >= *capacity_bytes) return false;
    const auto cap = cap_under_reservation(attempt, reservation_bytes, capacity_bytes);
    return attempt.failure && attempt.failure->kind == FailureKind::out_of_memory && attempt.failure->cause == OomCause::limit && cap &&
           cap != attempt.plan.cap_bytes;
}

inline std::int64_t larger_reservation(const Attempt& attempt, std::int64_t reservation_bytes) {
    return std::max(reservation_bytes + reservation_bytes / 2 + 1, known_requirement(attempt));
}

inline std::int64_t known_requirement(const Attempt& attempt) {
    const Failure& failure = *attempt.failure;
    return failure.memory.allocated.value_or(0) + failure.requested_bytes.value_or(0) + outside_allocator(attempt);
}

inline std::string waited_in_vain(double seconds) {
    return "too little of the device became free in " + display_text(Value{seconds}) + " s: its retry does not wait any longer";
}

inline Recovery ask_for_more(const Attempt& attempt, std::int64_t reservation_bytes) {
    return {.action = Recovery::Action::retry,
            .plan = attempt.plan,
            .params = attempt.changed_params,
            .reason = "requires more than the " + format_bytes(reservation_bytes) +
                      " that was reserved for it: runs again with more of the device"};
}

}  // namespace hpo::tuner
