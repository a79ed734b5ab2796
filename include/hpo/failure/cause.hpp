// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hpo/core/failure.hpp"

namespace hpo {

/// Why memory ran out, and the figures that show it.
struct OomDiagnosis {
    OomCause cause = OomCause::unknown;
    std::string evidence;  ///< one sentence
};

/// What is known besides the failure itself.
struct OomContext {
    std::optional<MemoryReading> at_start;  ///< when the attempt began, before it allocated anything
    std::optional<std::int64_t> capacity;   ///< of the device, if the failure does not say
};

namespace detail {

[[nodiscard]] inline std::string percent_of(std::int64_t part, std::int64_t whole) {
    return whole > 0 ? std::to_string((part * 100 + whole / 2) / whole) + " %" : "all";
}

}  // namespace detail

/// The cause of an out-of-memory failure. The first rule that holds decides:
///
/// - host: host memory ran out.
/// - limit: the allocator had a cap, and the request would have passed it. If the device itself is too small, too, it is capacity.
///   If the request fits the cap without the memory that was held before the attempt began, it is a leak.
/// - capacity: a single request is larger than the device, or than 1 EiB.
/// - leak: memory that was held before the attempt began is what is missing.
/// - fragmentation: the request would fit into reserved but unused memory, which is more than rounding leaves.
/// - neighbour: other processes hold what is missing. Where more was free than was asked for, only a process that the message names counts.
///   If the failure has no figures, it is a neighbour if others held more than half of the device when the attempt began.
/// - workspace: a library's temporary memory did not fit.
/// - unknown: more was free than was asked for.
/// - capacity: the process itself fills the device.
/// - unknown.
[[nodiscard]] OomDiagnosis diagnose_oom(const Failure& failure, const OomContext& context = {});

/// True for causes that follow from the configuration. The other causes could have hit any trial.
[[nodiscard]] constexpr bool follows_from_configuration(OomCause cause) {
    return cause == OomCause::capacity || cause == OomCause::limit || cause == OomCause::workspace || cause == OomCause::unknown;
}

/// True if the model's weights alone did not fit. Then no batch is small enough.
[[nodiscard]] inline bool weights_do_not_fit(const Failure& failure) {
    return is_memory(failure.kind) && failure.where == "build" && follows_from_configuration(failure.cause.value_or(OomCause::unknown));
}

/// Sets `cause` and `evidence` of a memory failure. Leaves other failures unchanged.
void explain_oom(Failure& failure, const OomContext& context = {});

}  // namespace hpo

#ifndef HPO_COMPILED
#include "hpo/failure/impl/cause_inl.hpp"
#endif
