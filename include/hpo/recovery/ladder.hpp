// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/core/field.hpp"
#include "hpo/recovery/concept.hpp"
#include "hpo/recovery/known_rungs.hpp"
#include "hpo/recovery/prune.hpp"
#include "hpo/recovery/rungs/alone.hpp"
#include "hpo/recovery/rungs/backoff.hpp"
#include "hpo/recovery/rungs/checkpoint_activations.hpp"
#include "hpo/recovery/rungs/expandable_segments.hpp"
#include "hpo/recovery/rungs/fresh_worker.hpp"
#include "hpo/recovery/rungs/limit_splits.hpp"
#include "hpo/recovery/rungs/lower_precision.hpp"
#include "hpo/recovery/rungs/other_device.hpp"
#include "hpo/recovery/rungs/retry.hpp"
#include "hpo/recovery/rungs/rung.hpp"
#include "hpo/recovery/rungs/rung_record.hpp"
#include "hpo/recovery/rungs/wait.hpp"
#include "hpo/recovery/shrink_micro_batch.hpp"

namespace hpo::recovery {

/// The answer of the first rung that has one and whose plan the trainer obeys. A rung that was tried in three trials of the study for
/// failures of this kind and cause, and helped in none, comes last. If no rung has an answer, the trial ends as with Prune.
[[nodiscard]] Recovery climb(std::span<const AnyRung> rungs, const FailedAttempt& failed);

/// Answers a failure with the first of several rungs that can help: `Ladder<ShrinkMicroBatch, CheckpointActivations, FreshWorker, Prune>`,
/// or with arguments `Ladder{ShrinkMicroBatch{}, Retry{.most = 3}, Wait{.timeout_seconds = 60}, Prune{}}`. It learns which of them help in
/// the study. Each decision begins with the name of its rung, so that the post-mortem can count them.
template <RecoveryRung... Rungs>
class Ladder {
public:
    Ladder() : Ladder{Rungs{}...} {}
    explicit Ladder(Rungs... rungs) requires(sizeof...(Rungs) > 0) : rungs_{any_rung(std::move(rungs))...} {}

    [[nodiscard]] Recovery recover(const FailedAttempt& failed) const { return climb(rungs_, failed); }

private:
    std::vector<AnyRung> rungs_;
};

/// A ladder whose rungs are named in its configuration.
template <>
class Ladder<> {
public:
    static constexpr std::string_view name = "ladder";
    static constexpr std::string_view summary = "tries several rungs one after another, and those last that never helped in the study";
    struct Config {
        /// Rungs for a single cause stand before those for any.
        std::string rungs =
            "expandable_segments+limit_splits+other_device+backoff+fresh_worker+alone+wait+shrink_micro_batch+checkpoint_activations+prune";
    };
    static constexpr void fields(auto field) { field("rungs", &Config::rungs, "the rungs in order, with + between them"); }

    Ladder() : Ladder{Config{}} {}
    /// Throws Error where parse_rungs does.
    explicit Ladder(const Config& config) : rungs_{parse_rungs(config.rungs)} {}

    [[nodiscard]] Recovery recover(const FailedAttempt& failed) const { return climb(rungs_, failed); }

private:
    std::vector<AnyRung> rungs_;
};

static_assert(RecoveryPolicy<Ladder<>> && Configurable<Ladder<>>);
static_assert(RecoveryPolicy<Ladder<ShrinkMicroBatch, FreshWorker>>);

inline Recovery climb(std::span<const AnyRung> rungs, const FailedAttempt& failed) {
    constexpr std::int64_t least_tries = 3;
    const FailureClass failures = FailureClass::of(failed.failure);
    std::optional<Recovery> last_resort;
    std::string tried;
    for (const AnyRung& rung : rungs) {
        if (const int uses = uses_of(rung.name, failed.trial); uses > 0)
            tried += (tried.empty() ? "" : ", ") + std::string{rung.name} + (uses > 1 ? " " + std::to_string(uses) + " times" : "");
        std::optional<Recovery> answer = rung.offer(failed);
        if (!answer) continue;
        if (failed.refuses_plan && *failed.refuses_plan && (*failed.refuses_plan)(failed.attempt.plan, answer->plan)) continue;
        answer->rung = rung.name;
        if (answer->action != Recovery::Action::fail) answer->reason = decision_of(rung.name, answer->reason);
        if (answer->action != Recovery::Action::retry) {
            if (last_resort) return *std::move(last_resort);
            answer->reason += tried.empty() ? "" : "; tried: " + tried;
            return *std::move(answer);
        }
        const RungRecord record = record_of(rung.name, failures, failed.history.trials);
        if (record.trials < least_tries || record.helped > 0) return *std::move(answer);
        if (last_resort) continue;
        answer->reason += " (it has helped in none of " + std::to_string(record.trials) + " trials)";
        last_resort = std::move(answer);
    }
    if (last_resort) return *std::move(last_resort);
    Recovery end = Prune{}.recover(failed);
    end.reason = std::string{to_text(failed.failure.kind)} + ", and no rung is left" + (tried.empty() ? "" : "; tried: " + tried);
    return end;
}

}  // namespace hpo::recovery
