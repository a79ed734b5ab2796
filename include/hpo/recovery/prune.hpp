// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "hpo/core/field.hpp"
#include "hpo/recovery/concept.hpp"
#include "hpo/recovery/rungs/rung.hpp"

namespace hpo::recovery {

/// Ends a trial that ran out of memory as PRUNED, which makes it infeasible for the sampler. Any other failure ends the trial as FAIL.
class Prune {
public:
    static constexpr std::string_view name = "prune";
    static constexpr std::string_view summary = "ends a trial that ran out of memory as PRUNED and infeasible; any other failure is FAIL";
    using Config = NoConfig;
    static constexpr void fields(auto /*field*/) {}

    Prune() = default;
    explicit Prune(Config /*config*/) {}

    [[nodiscard]] Recovery recover(const FailedAttempt& failed) const {
        const auto action = is_memory(failed.failure.kind) ? Recovery::Action::prune : Recovery::Action::fail;
        return recovery_of(failed, action, std::string{to_text(failed.failure.kind)});
    }
    /// As a rung, it ends the trial.
    [[nodiscard]] std::optional<Recovery> offer(const FailedAttempt& failed) const { return recover(failed); }
};

static_assert(RecoveryPolicy<Prune> && Configurable<Prune> && RecoveryRung<Prune>);

}  // namespace hpo::recovery
