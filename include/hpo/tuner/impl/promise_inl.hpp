// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "hpo/core/bytes.hpp"
#include "hpo/core/inline.hpp"
#include "hpo/failure/cause.hpp"
#include "hpo/memory/predicted_estimate.hpp"
#include "hpo/tuner/promise.hpp"

namespace hpo::tuner {

HPO_INLINE std::int64_t outside_allocator(const Attempt& attempt) {
    return attempt.estimate ? memory::bytes_of_part(*attempt.estimate, memory::context_part) : 0;
}

HPO_INLINE std::optional<std::int64_t> cap_under_promise(const Attempt& attempt, std::int64_t promised_bytes,
                                                         std::optional<std::int64_t> capacity_bytes) {
    const auto& own = attempt.plan.cap_bytes;
    if (capacity_bytes && promised_bytes >= *capacity_bytes && attempt.plan.device == "cpu") return own;
    const std::int64_t cap = std::max<std::int64_t>(1, promised_bytes - outside_allocator(attempt));
    return own ? std::min(*own, cap) : cap;
}

HPO_INLINE bool exceeded_promise(const Attempt& attempt, std::int64_t promised_bytes, std::optional<std::int64_t> capacity_bytes) {
    if (capacity_bytes && promised_bytes >= *capacity_bytes) return false;
    const auto cap = cap_under_promise(attempt, promised_bytes, capacity_bytes);
    return attempt.failure && attempt.failure->kind == FailureKind::out_of_memory && attempt.failure->cause == OomCause::limit && cap &&
           cap != attempt.plan.cap_bytes;
}

HPO_INLINE std::int64_t larger_promise(const Attempt& attempt, std::int64_t promised_bytes) {
    const Failure& failure = *attempt.failure;
    const std::int64_t known = failure.memory.allocated.value_or(0) + failure.requested_bytes.value_or(0) + outside_allocator(attempt);
    return std::max(promised_bytes + promised_bytes / 2 + 1, known);
}

HPO_INLINE Recovery ask_for_more(const Attempt& attempt, std::int64_t promised_bytes) {
    return {.action = Recovery::Action::retry,
            .plan = attempt.plan,
            .params = attempt.changed_params,
            .reason = "needs more than the " + format_bytes(promised_bytes) + " that was reserved for it: again with more of the device"};
}

}  // namespace hpo::tuner
