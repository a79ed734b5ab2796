// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <utility>

#include "hpo/recovery/concept.hpp"
#include "hpo/tuner/attempt_admission.hpp"
#include "hpo/tuner/devices/attempt_reservations.hpp"
#include "hpo/tuner/devices/reservation.hpp"
#include "hpo/tuner/options.hpp"

namespace hpo::tuner {

/// The attempt that a retry asks for. `next` has what it takes over from the failed one.
[[nodiscard]] inline WaitingAttempt waiting_retry(std::int64_t number, const Attempt& failed, Attempt next, Recovery recovery,
                                                  const TuneOptions& options) {
    next.plan = std::move(recovery.plan);
    next.changed_params = std::move(recovery.params);
    if (next.changed_params) copy_effective_batch(*next.changed_params, options, next.plan);
    // A smaller plan needs less than the failed one did. Its own estimate, if there is one, says how much.
    const bool same_plan = next.plan == failed.plan;
    return {.number = number,
            .attempt = std::move(next),
            .fresh_worker = recovery.fresh_worker,
            .wait_seconds = recovery.wait_seconds,
            .wait_interval_seconds = recovery.wait_interval_seconds,
            .pause_seconds = recovery.pause_seconds,
            .free_bytes = recovery.wait_seconds && same_plan ? known_requirement(failed) : 0,
            .other_device = recovery.other_device,
            .alone = recovery.alone};
}

}  // namespace hpo::tuner
