// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "hpo/core/field.hpp"
#include "hpo/recovery/concept.hpp"
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

}  // namespace hpo::recovery

#ifndef HPO_COMPILED
#include "hpo/recovery/impl/shrink_micro_batch_inl.hpp"
#endif
