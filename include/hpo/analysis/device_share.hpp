// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "hpo/analysis/failure_case.hpp"
#include "hpo/core/bytes.hpp"
#include "hpo/core/trial.hpp"
#include "hpo/failure/cause.hpp"

namespace hpo::analysis {

/// What a later attempt of the same plan had of its device beyond one that ran out of what it had.
struct LargerShare {
    std::int64_t had_bytes = 0;           ///< the cap that was met
    std::optional<std::int64_t> bytes{};  ///< the later one's cap, where it had one that is known
    bool all = false;                     ///< the later one had none

    /// "56.05 MiB instead of 36.79 MiB".
    [[nodiscard]] std::string text() const {
        if (!bytes && !all) return "more than " + format_bytes(had_bytes);
        return (bytes ? format_bytes(*bytes) : "all of it") + " instead of " + format_bytes(had_bytes);
    }
};

/// What `later` had of its device beyond the failed attempt, which met a cap that is not of its plan: the one of what it was promised.
/// Nothing unless plan and parameters are the same.
///
/// Design note: the readings of a metered device tell a worker's cap, the first one that of the promise. Those of a GPU do not, only the
/// message of the failure does: an attempt of the same plan that came after it had more, and how much more is not known.
[[nodiscard]] inline std::optional<LargerShare> larger_share(const FailureCase& entry, const Attempt& later) {
    if (!entry.attempt || entry.failure.cause != OomCause::limit || later.plan != entry.attempt->plan) return std::nullopt;
    if (params_of(*entry.trial, later) != params_of(*entry.trial, *entry.attempt)) return std::nullopt;
    const auto met = entry.failure.memory.limit;
    const auto own = entry.attempt->plan.cap_bytes;
    if (!met || (own && *met >= *own - *own / 100)) return std::nullopt;  // messages round
    const auto start = detail::start_of(*entry.trial, &later);
    if (!start) return std::nullopt;
    LargerShare share{.had_bytes = *met, .bytes = start->limit};
    if (share.bytes) return *share.bytes > *met ? std::optional{share} : std::nullopt;
    share.all = std::ranges::any_of(entry.attempt->memory,
                                    [](const MemoryMark& mark) { return mark.name != settled_mark && mark.reading.limit.has_value(); });
    return share;
}

/// Whether the attempt after the failed one had a larger share of the device and nothing else: no rule need answer such a failure.
[[nodiscard]] inline bool got_larger_share(const FailureCase& entry) {
    if (!entry.attempt) return false;
    for (const Attempt& later : entry.trial->attempts) {
        if (later.index == entry.attempt->index + 1) return larger_share(entry, later).has_value();
    }
    return false;
}

}  // namespace hpo::analysis
