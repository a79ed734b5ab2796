// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "hpo/recovery/rungs/rung.hpp"

namespace hpo::recovery::inline rungs {

/// Retries after pauses that double, if the network or a network file system was away. A trial may fill a disk by itself, so a full disk is
/// not waited for. Whether a server that refused was the trial's own is not known. It pauses only if an attempt of the study has ended well
/// before. If a trial has paused in vain for the whole time, others do not pause until one ends well.
struct Backoff {
    static constexpr std::string_view name = "backoff";
    static constexpr std::string_view summary = "retries after pauses that double, if the network or a network file system was away";
    double timeout_seconds = 600;  ///< all pauses of a trial together
    double interval_seconds = 5;   ///< the first pause

    static constexpr void arguments(auto argument) {
        argument("timeout", &Backoff::timeout_seconds);
        argument("interval", &Backoff::interval_seconds);
    }

    [[nodiscard]] std::string_view unmet(std::size_t given) const { return unmet_interval(given, interval_seconds, timeout_seconds); }
    [[nodiscard]] std::optional<Recovery> offer(const FailedAttempt& failed) const;
};

static_assert(RecoveryRung<Backoff>);

}  // namespace hpo::recovery::rungs

#ifndef HPO_COMPILED
#include "hpo/recovery/rungs/impl/backoff_inl.hpp"
#endif
