// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "hpo/core/trial.hpp"
#include "hpo/recovery/concept.hpp"

namespace hpo::tuner {

/// What an attempt predicts to take outside its allocator, which a cap does not count: a GPU's context.
[[nodiscard]] std::int64_t outside_allocator(const Attempt& attempt);

/// The cap of the worker of an attempt that was promised `promised_bytes` of its device. Where it has all that the study may have, none
/// beyond the plan's own on a CPU, whose metered device has no more; a GPU may have more, which is others'.
[[nodiscard]] std::optional<std::int64_t> cap_under_promise(const Attempt& attempt, std::int64_t promised_bytes,
                                                            std::optional<std::int64_t> capacity_bytes);

/// Whether an attempt ran out of the memory that it was promised, while its plan and its device would have let it have more.
[[nodiscard]] bool exceeded_promise(const Attempt& attempt, std::int64_t promised_bytes, std::optional<std::int64_t> capacity_bytes);

/// What to ask for after that: half as much again, and at least what is known to be needed.
[[nodiscard]] std::int64_t larger_promise(const Attempt& attempt, std::int64_t promised_bytes);

/// The answer to an attempt that exceeded its promise: the same again, with more. Its configuration is not to blame.
[[nodiscard]] Recovery ask_for_more(const Attempt& attempt, std::int64_t promised_bytes);

}  // namespace hpo::tuner

#ifndef HPO_COMPILED
#include "hpo/tuner/impl/promise_inl.hpp"
#endif
