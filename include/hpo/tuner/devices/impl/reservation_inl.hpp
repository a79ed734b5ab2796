// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "hpo/base/bytes.hpp"
#include "hpo/base/inline.hpp"
#include "hpo/core/device_word.hpp"
#include "hpo/core/value.hpp"
#include "hpo/failure/cause.hpp"
#include "hpo/memory/predicted_estimate.hpp"
#include "hpo/tuner/devices/reservation.hpp"

namespace hpo::tuner::inline devices {

HPO_INLINE std::int64_t outside_allocator(const Attempt& attempt) {
    return attempt.estimate ? memory::bytes_of_part(*attempt.estimate, memory::context_part) : 0;
}

HPO_INLINE std::optional<std::int64_t> cap_under_reservation(const Attempt& attempt, std::int64_t reservation_bytes,
                                                             std::optional<std::int64_t> capacity_bytes) {
    const auto& own = attempt.plan.cap_bytes;
    if (capacity_bytes && reservation_bytes >= *capacity_bytes && is_cpu(attempt.plan.device)) return own;
    const std::int64_t cap = std::max<std::int64_t>(1, reservation_bytes - outside_allocator(attempt));
    return own ? std::min(*own, cap) : cap;
}

HPO_INLINE bool exceeded_reservation(const Attempt& attempt, std::int64_t reservation_bytes, std::optional<std::int64_t> capacity_bytes) {
    if (capacity_bytes && reservation_bytes >= *capacity_bytes) return false;
    const auto cap = cap_under_reservation(attempt, reservation_bytes, capacity_bytes);
    return attempt.failure && attempt.failure->kind == FailureKind::out_of_memory && attempt.failure->cause == OomCause::limit && cap &&
           cap != attempt.plan.cap_bytes;
}

HPO_INLINE std::int64_t larger_reservation(const Attempt& attempt, std::int64_t reservation_bytes) {
    return std::max(reservation_bytes + reservation_bytes / 2 + 1, known_requirement(attempt));
}

HPO_INLINE std::int64_t known_requirement(const Attempt& attempt) {
    const Failure& failure = *attempt.failure;
    return failure.memory.allocated.value_or(0) + failure.requested_bytes.value_or(0) + outside_allocator(attempt);
}

HPO_INLINE std::string waited_in_vain(double seconds) {
    return "too little of the device became free in " + display_text(Value{seconds}) + " s: its retry does not wait any longer";
}

HPO_INLINE Recovery ask_for_more(const Attempt& attempt, std::int64_t reservation_bytes) {
    return {.action = Recovery::Action::retry,
            .plan = attempt.plan,
            .params = attempt.changed_params,
            .reason = "requires more than the " + format_bytes(reservation_bytes) +
                      " that was reserved for it: runs again with more of the device"};
}

}  // namespace hpo::tuner::devices
