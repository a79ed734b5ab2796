// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "hpo/recovery/concept.hpp"
#include "hpo/tuner/devices/reservation.hpp"
#include "hpo/tuner/verdicts.hpp"

namespace hpo::tuner {

/// What follows a failed attempt.
struct FailureAnswer {
    Recovery recovery;
    bool anew = false;             ///< the trial begins again, because it could not go on from its checkpoint
    std::int64_t least_bytes = 0;  ///< to be reserved for the next attempt; 0: what is predicted

    [[nodiscard]] bool is_retry() const { return recovery.action == Recovery::Action::retry; }
};

/// Asks the policy, unless the configuration is not to blame: a checkpoint that cannot be read, or a reservation that was too small.
/// `reserved` are the bytes of the device that were reserved for the attempt, or nullopt if it had no reservation.
template <RecoveryPolicy R>
[[nodiscard]] FailureAnswer answer_of(const R& policy, const FailedAttempt& failed, std::optional<std::int64_t> reserved,
                                      const TuneOptions& options) {
    FailureAnswer answer;
    answer.anew = failed_to_go_on(failed.trial, failed.attempt);
    const bool more = !answer.anew && reserved && exceeded_reservation(failed.attempt, *reserved, failed.attempt.capacity_bytes);
    if (more) answer.least_bytes = larger_reservation(failed.attempt, *reserved);
    answer.recovery = answer.anew ? begin_anew(failed.attempt) : more ? ask_for_more(failed.attempt, *reserved) : policy.recover(failed);
    bound_retry(answer.recovery, failed.attempt, options);
    return answer;
}

}  // namespace hpo::tuner
