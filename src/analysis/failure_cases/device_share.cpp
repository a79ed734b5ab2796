// SPDX-License-Identifier: MIT
#include "hpo/analysis/failure_cases/device_share.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "hpo/base/bytes.hpp"
#include "hpo/failure/cause.hpp"

namespace hpo::analysis {

std::string LargerShare::text() const {
    if (!bytes && !all) return "more than " + format_bytes(had_bytes);
    return (bytes ? format_bytes(*bytes) : "all of it") + " instead of " + format_bytes(had_bytes);
}

std::optional<LargerShare> larger_share(const FailureCase& entry, const Attempt& later) {
    if (!entry.attempt || entry.failure.cause != OomCause::limit || later.plan != entry.attempt->plan) return std::nullopt;
    if (params_of(*entry.trial, later) != params_of(*entry.trial, *entry.attempt)) return std::nullopt;
    const auto met = entry.failure.memory.limit;
    const auto own = entry.attempt->plan.cap_bytes;
    if (!met || (own && *met >= *own - *own / 100)) return std::nullopt;  // messages round their figures
    const auto start = detail::start_of(*entry.trial, &later);
    if (!start) return std::nullopt;
    LargerShare share{.had_bytes = *met, .bytes = start->limit};
    if (share.bytes) return *share.bytes > *met ? std::optional{share} : std::nullopt;
    share.all = std::ranges::any_of(entry.attempt->memory,
                                    [](const MemoryMark& mark) { return mark.name != settled_mark && mark.reading.limit.has_value(); });
    return share;
}

bool got_larger_share(const FailureCase& entry) {
    if (!entry.attempt) return false;
    for (const Attempt& later : entry.trial->attempts) {
        if (later.index == entry.attempt->index + 1) return larger_share(entry, later).has_value();
    }
    return false;
}

}  // namespace hpo::analysis
