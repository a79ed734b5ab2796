// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "hpo/core/field.hpp"
#include "hpo/failure/cause.hpp"
#include "hpo/failure/traits.hpp"
#include "hpo/recovery/concept.hpp"
#include "hpo/recovery/rungs/backoff.hpp"
#include "hpo/recovery/rungs/other_device.hpp"
#include "hpo/recovery/rungs/rung.hpp"

namespace hpo::recovery {

/// Answers an out-of-memory failure with half the micro-batch. The effective batch stays the same, so the number of accumulation steps
/// doubles and the trial still tests what was suggested. A trial whose micro-batch cannot shrink further ends as PRUNED, and so does a
/// trial that ran out of host memory. After a worker died, the trial is retried in a fresh worker, up to `crash_retries` times. After a
/// fault of the device, it is retried as by OtherDevice, and while the network is away as by Backoff. Other failures end as FAIL.
class ShrinkMicroBatch {
public:
    static constexpr std::string_view name = "shrink_micro_batch";
    static constexpr std::string_view summary = "halves the micro-batch on out-of-memory and accumulates twice as often";
    struct Config {
        std::int64_t min_micro_batch = 1;
        std::int64_t max_retries = 8;
        std::int64_t crash_retries = 1;
        std::int64_t outage_seconds = 600;
    };
    static constexpr void fields(auto field) {
        field("min_micro_batch", &Config::min_micro_batch, "smallest micro-batch that is tried");
        field("max_retries", &Config::max_retries, "attempts after the first if memory runs out");
        field("crash_retries", &Config::crash_retries, "attempts in a fresh worker after one died or vanished");
        field("outage_seconds", &Config::outage_seconds, "pauses of a trial while the network or a network file system is away; 0: none");
    }

    /// As a rung.
    static constexpr void arguments(auto argument) { argument("min_micro_batch", &ShrinkMicroBatch::least_); }

    ShrinkMicroBatch() = default;
    explicit ShrinkMicroBatch(Config config);

    [[nodiscard]] Recovery recover(const FailedAttempt& failed) const;
    /// As a rung, it only halves the micro-batch, and leaves to others what that cannot help. Retries by other rungs are not counted.
    [[nodiscard]] std::optional<Recovery> offer(const FailedAttempt& failed) const {
        if (!device_refused_memory(failed.failure)) return std::nullopt;
        Recovery answer = smaller(failed, uses_of(name, failed.trial));
        return answer.action == Recovery::Action::retry ? std::optional{std::move(answer)} : std::nullopt;
    }

private:
    /// The answer to memory that ran out, after so many retries.
    [[nodiscard]] Recovery smaller(const FailedAttempt& failed, int retries) const;

    Config config_;
    /// Design note: as `min_micro_batch`. A rung's argument is a member of the rung, not of its configuration.
    std::int64_t least_ = config_.min_micro_batch;
};

static_assert(RecoveryPolicy<ShrinkMicroBatch> && Configurable<ShrinkMicroBatch> && RecoveryRung<ShrinkMicroBatch>);

inline ShrinkMicroBatch::ShrinkMicroBatch(Config config) : config_{config} {
    require_at_least<1>("min_micro_batch", config.min_micro_batch);
    require_at_least<0>("crash_retries", config.crash_retries);
    require_at_least<0>("outage_seconds", config.outage_seconds);
    require_at_least<0>("max_retries", config.max_retries);
}

inline Recovery ShrinkMicroBatch::recover(const FailedAttempt& failed) const {
    const Failure& failure = failed.failure;
    const auto by = [&]<class Rung>(const Rung& rung) {
        auto retry = rung.offer(failed);
        if (retry) {
            retry->rung = Rung::name;
            retry->reason = decision_of(Rung::name, retry->reason);
        }
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

inline Recovery ShrinkMicroBatch::smaller(const FailedAttempt& failed, int retries) const {
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
