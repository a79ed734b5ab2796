// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "hpo/base/inline.hpp"
#include "hpo/recovery/ladder.hpp"
#include "hpo/recovery/rungs/rung_record.hpp"

namespace hpo::recovery {

HPO_INLINE Recovery climb(std::span<const AnyRung> rungs, const FailedAttempt& failed) {
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
