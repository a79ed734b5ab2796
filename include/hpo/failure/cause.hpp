// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hpo/core/failure.hpp"

namespace hpo {

/// Why memory ran out, with the figures that say so.
struct OomDiagnosis {
    OomCause cause = OomCause::unknown;
    std::string evidence;  ///< one sentence
};

/// What is known beside the failure itself.
struct OomContext {
    std::optional<MemoryReading> at_start;  ///< when the attempt began, before it allocated anything
    std::optional<std::int64_t> capacity;   ///< of the device, when the failure does not say
};

namespace detail {

[[nodiscard]] inline std::string percent_of(std::int64_t part, std::int64_t whole) {
    return whole > 0 ? std::to_string((part * 100 + whole / 2) / whole) + " %" : "all";
}

}  // namespace detail

/// The cause of an out-of-memory. Rules in order, the first that holds answers: host; limit (the allocator had a cap, and the request
/// would have passed it); capacity (one request larger than the device); leak (memory held before the attempt began is what is
/// missing); fragmentation (the request would fit into what is reserved and unused, which is more than rounding leaves); neighbour
/// (others hold what is missing); workspace; capacity (the process itself fills the device); unknown.
[[nodiscard]] OomDiagnosis diagnose_oom(const Failure& failure, const OomContext& context = {});

/// True for causes that follow from the configuration: the others could have hit any trial.
[[nodiscard]] constexpr bool follows_from_configuration(OomCause cause) {
    return cause == OomCause::capacity || cause == OomCause::limit || cause == OomCause::workspace || cause == OomCause::unknown;
}

/// Whether the model's weights alone were too much: no batch is small enough for that.
[[nodiscard]] inline bool weights_do_not_fit(const Failure& failure) {
    return is_memory(failure.kind) && failure.where == "build" && follows_from_configuration(failure.cause.value_or(OomCause::unknown));
}

/// Fills `cause` and `evidence` of a memory failure; leaves others as they are.
void explain_oom(Failure& failure, const OomContext& context = {});

}  // namespace hpo

#ifndef HPO_COMPILED
#include "hpo/failure/impl/cause_inl.hpp"
#endif
