// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "hpo/base/inline.hpp"
#include "hpo/failure/cause.hpp"
#include "hpo/failure/traits.hpp"
#include "hpo/recovery/rungs/backoff.hpp"
#include "hpo/recovery/rungs/other_device.hpp"
#include "hpo/recovery/shrink_micro_batch.hpp"

namespace hpo::recovery {

HPO_INLINE ShrinkMicroBatch::ShrinkMicroBatch(Config config) : config_{config} {
    if (config.min_micro_batch < 1) throw bad_value("min_micro_batch", std::to_string(config.min_micro_batch), "at least 1");
    if (config.crash_retries < 0) throw bad_value("crash_retries", std::to_string(config.crash_retries), "0 or more");
    if (config.outage_seconds < 0) throw bad_value("outage_seconds", std::to_string(config.outage_seconds), "0 or more");
    if (config.max_retries < 0) throw bad_value("max_retries", std::to_string(config.max_retries), "0 or more");
}

HPO_INLINE Recovery ShrinkMicroBatch::recover(const FailedAttempt& failed) const {
    const Failure& failure = failed.failure;
    const auto by = [&]<class Rung>(const Rung& rung) {
        auto retry = rung.offer(failed);
        if (retry) retry->reason = decision_of(Rung::name, retry->reason);
        return retry;
    };
    if (traits_of(failure).blame == Blame::device) {
        if (auto retry = by(OtherDevice{})) return *std::move(retry);
    }
    if (auto retry = by(Backoff{.timeout_seconds = static_cast<double>(config_.outage_seconds)})) return *std::move(retry);
    if (failure.kind == FailureKind::crash || failure.kind == FailureKind::lost_worker) {
        const auto died = std::count_if(failed.trial.attempts.begin(), failed.trial.attempts.end(), [](const Attempt& attempt) {
            return attempt.failure && (attempt.failure->kind == FailureKind::crash || attempt.failure->kind == FailureKind::lost_worker);
        });
        if (died > config_.crash_retries) {
            return recovery_of(failed, Recovery::Action::fail, "its process died in " + std::to_string(died) + " attempts of this trial");
        }
        return retry_in_new_process(failed, "its process died: retry in a fresh worker");
    }
    if (!is_memory(failure.kind)) {
        const int pauses = uses_of(Backoff::name, failed.trial);
        const std::string tried = pauses == 0 ? "" : ", also after " + std::to_string(pauses) + (pauses == 1 ? " pause" : " pauses");
        return recovery_of(failed, Recovery::Action::fail, std::string{to_text(failure.kind)} + tried);
    }
    return smaller(failed, failed.attempt.index);
}

HPO_INLINE Recovery ShrinkMicroBatch::smaller(const FailedAttempt& failed, int retries) const {
    const Failure& failure = failed.failure;
    if (failure.kind == FailureKind::predicted_oom) return recovery_of(failed, Recovery::Action::prune, "refused before launch");
    if (failure.kind == FailureKind::host_out_of_memory || failure.cause == OomCause::host) {
        return recovery_of(failed, Recovery::Action::prune, "out of host memory, which a smaller micro-batch does not save");
    }
    if (weights_do_not_fit(failure))
        return recovery_of(failed, Recovery::Action::prune, "out of memory for the model's weights, whatever the micro-batch");
    const auto micro = failed.attempt.plan.effective_micro_batch();
    if (!micro) return recovery_of(failed, Recovery::Action::prune, "out of memory, and the plan has no batch to shrink");
    if (*micro <= least_) {
        return recovery_of(failed, Recovery::Action::prune,
                           "out of memory at micro-batch " + std::to_string(*micro) + ", the smallest allowed");
    }
    if (retries >= config_.max_retries) {
        return recovery_of(failed, Recovery::Action::prune,
                           "out of memory at micro-batch " + std::to_string(*micro) + " after " + std::to_string(retries) + " retries");
    }
    Recovery retry = retry_of(failed, {});
    retry.plan.micro_batch = std::max(least_, *micro / 2);
    retry.reason = "out of memory at micro-batch " + std::to_string(*micro) + ": retry at " + std::to_string(*retry.plan.micro_batch) +
                   " with " + std::to_string(retry.plan.accumulation_steps()) + " accumulation steps";
    return retry;
}

}  // namespace hpo::recovery
