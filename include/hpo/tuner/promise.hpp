// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "hpo/core/bytes.hpp"
#include "hpo/core/trial.hpp"
#include "hpo/failure/cause.hpp"
#include "hpo/memory/predicted_estimate.hpp"
#include "hpo/recovery/concept.hpp"

namespace hpo::tuner {

/// What an attempt predicts to take outside its allocator, which a cap does not count: a GPU's context.
[[nodiscard]] inline std::int64_t outside_allocator(const Attempt& attempt) {
    return attempt.estimate ? memory::bytes_of_part(*attempt.estimate, memory::context_part) : 0;
}

/// The cap of the worker of an attempt that was promised `promised_bytes` of its device. Where it has all that the study may have, none
/// beyond the plan's own on a CPU, whose metered device has no more; a GPU may have more, which is others'.
[[nodiscard]] inline std::optional<std::int64_t> cap_under_promise(const Attempt& attempt, std::int64_t promised_bytes,
                                                                   std::optional<std::int64_t> capacity_bytes) {
    const auto& own = attempt.plan.cap_bytes;
    if (capacity_bytes && promised_bytes >= *capacity_bytes && attempt.plan.device == "cpu") return own;
    const std::int64_t cap = std::max<std::int64_t>(1, promised_bytes - outside_allocator(attempt));
    return own ? std::min(*own, cap) : cap;
}

/// Whether an attempt ran out of the memory that it was promised, while its plan and its device would have let it have more.
[[nodiscard]] inline bool exceeded_promise(const Attempt& attempt, std::int64_t promised_bytes,
                                           std::optional<std::int64_t> capacity_bytes) {
    if (capacity_bytes && promised_bytes >= *capacity_bytes) return false;
    const auto cap = cap_under_promise(attempt, promised_bytes, capacity_bytes);
    return attempt.failure && attempt.failure->kind == FailureKind::out_of_memory && attempt.failure->cause == OomCause::limit && cap &&
           cap != attempt.plan.cap_bytes;
}

/// What to ask for after that: half as much again, and at least what is known to be needed.
[[nodiscard]] inline std::int64_t larger_promise(const Attempt& attempt, std::int64_t promised_bytes) {
    const Failure& failure = *attempt.failure;
    const std::int64_t known = failure.memory.allocated.value_or(0) + failure.requested_bytes.value_or(0) + outside_allocator(attempt);
    return std::max(promised_bytes + promised_bytes / 2 + 1, known);
}

/// The answer to an attempt that exceeded its promise: the same again, with more. Its configuration is not to blame.
[[nodiscard]] inline Recovery ask_for_more(const Attempt& attempt, std::int64_t promised_bytes) {
    return {.action = Recovery::Action::retry,
            .plan = attempt.plan,
            .params = attempt.changed_params,
            .reason = "needs more than the " + format_bytes(promised_bytes) + " that was reserved for it: again with more of the device"};
}

}  // namespace hpo::tuner
