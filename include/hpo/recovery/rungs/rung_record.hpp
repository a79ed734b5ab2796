// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "hpo/recovery/rungs/rung.hpp"

namespace hpo::recovery {

/// The failures that a record tells apart: the kind, and the cause of memory that ran out.
struct FailureClass {
    FailureKind kind = FailureKind::trainer_error;
    std::optional<OomCause> cause;

    [[nodiscard]] static FailureClass of(const Failure& failure) { return {failure.kind, failure.cause}; }
    friend bool operator==(const FailureClass&, const FailureClass&) = default;
};

/// What a rung did about one class of failures.
struct RungRecord {
    std::int64_t trials = 0;  ///< in which it was tried and which have ended
    std::int64_t helped = 0;  ///< of these, trials in which an attempt under it did not fail
};

/// Counts a rung's answers to failures of a class. A rung that is tried several times in a row helps if the last of these attempts does not
/// fail. If the tuner itself answered to it, because the reservation was too small, the attempt after that one counts. So it does after a
/// failure of another kind, which the rung was not asked about: it helped if the trial then ends well. O(attempts).
[[nodiscard]] inline RungRecord record_of(std::string_view rung, const FailureClass& failures, std::span<const Trial> trials) {
    RungRecord record;
    for (const Trial& trial : trials) {
        if (!is_finished(trial.state)) continue;
        bool tried = false;
        bool helped = false;
        for (std::size_t i = 0; i + 1 < trial.attempts.size(); ++i) {
            const Attempt& attempt = trial.attempts[i];
            if (!attempt.failure || FailureClass::of(*attempt.failure) != failures || answerer_of(attempt) != rung) continue;
            tried = true;
            std::size_t under = i + 1;
            const auto says_nothing = [&](const Attempt& next) {
                return next.failure && (answerer_of(next).empty() || next.failure->kind != failures.kind);
            };
            while (under + 1 < trial.attempts.size() && says_nothing(trial.attempts[under])) ++under;
            helped = helped || !trial.attempts[under].failure;
        }
        record.trials += tried ? 1 : 0;
        record.helped += helped ? 1 : 0;
    }
    return record;
}

}  // namespace hpo::recovery
