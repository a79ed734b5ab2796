// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/core/field.hpp"
#include "hpo/recovery/concept.hpp"
#include "hpo/recovery/prune.hpp"
#include "hpo/recovery/rungs/alone.hpp"
#include "hpo/recovery/rungs/checkpoint_activations.hpp"
#include "hpo/recovery/rungs/expandable_segments.hpp"
#include "hpo/recovery/rungs/fresh_worker.hpp"
#include "hpo/recovery/rungs/limit_splits.hpp"
#include "hpo/recovery/rungs/lower_precision.hpp"
#include "hpo/recovery/rungs/other_device.hpp"
#include "hpo/recovery/rungs/rung.hpp"
#include "hpo/recovery/rungs/wait.hpp"
#include "hpo/recovery/shrink_micro_batch.hpp"

namespace hpo::recovery {

/// A rung of a ladder by its name.
struct NamedRung {
    std::string_view name;
    std::string_view summary;
    std::optional<Recovery> (*offer)(const FailedAttempt& failed);
};

template <RecoveryRung R>
inline constexpr NamedRung named_rung{R::name, R::summary, [](const FailedAttempt& failed) { return R{}.offer(failed); }};

/// All rungs that a command line or a script can name.
inline constexpr std::array known_rungs{named_rung<ShrinkMicroBatch>,
                                        named_rung<CheckpointActivations>,
                                        named_rung<LowerPrecision>,
                                        named_rung<ExpandableSegments>,
                                        named_rung<LimitSplits>,
                                        named_rung<FreshWorker>,
                                        named_rung<OtherDevice>,
                                        named_rung<Alone>,
                                        named_rung<Wait>,
                                        named_rung<Prune>};

/// The answer of the first rung that has one and whose plan the trainer obeys. A rung that was tried in `least_tries` trials of the study
/// for failures of this kind and cause, and helped in none, comes last. If no rung has an answer, the trial ends as with Prune.
[[nodiscard]] Recovery climb(std::span<const NamedRung> rungs, const FailedAttempt& failed);

/// Answers a failure with the first of several rungs that can help: `Ladder<ShrinkMicroBatch, CheckpointActivations, FreshWorker, Prune>`.
/// It learns which of them help in the study. Each decision begins with the name of its rung, so that the post-mortem can count them.
template <RecoveryRung... Rungs>
class Ladder {
public:
    [[nodiscard]] Recovery recover(const FailedAttempt& failed) const { return climb(rungs, failed); }

private:
    static constexpr std::array<NamedRung, sizeof...(Rungs)> rungs{named_rung<Rungs>...};
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
            "expandable_segments+limit_splits+other_device+fresh_worker+alone+wait+shrink_micro_batch+checkpoint_activations+prune";
    };
    static constexpr void fields(auto field) { field("rungs", &Config::rungs, "the rungs in order, with + between them"); }

    Ladder() : Ladder{Config{}} {}
    /// Throws Error for a rung that is unknown or named twice.
    explicit Ladder(const Config& config);

    [[nodiscard]] Recovery recover(const FailedAttempt& failed) const { return climb(rungs_, failed); }

private:
    std::vector<NamedRung> rungs_;
};

static_assert(RecoveryPolicy<Ladder<>> && Configurable<Ladder<>>);
static_assert(RecoveryPolicy<Ladder<ShrinkMicroBatch, FreshWorker>>);

}  // namespace hpo::recovery

#ifndef HPO_COMPILED
#include "hpo/recovery/impl/ladder_inl.hpp"
#endif
