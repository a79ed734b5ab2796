// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "hpo/core/value.hpp"
#include "hpo/trainer/trainer.hpp"

namespace hpo::testing {

/// The result of `work`. An exception becomes a failed outcome, as in a worker.
template <class Work>
[[nodiscard]] AttemptOutcome outcome_of(Work&& work) {
    try {
        return work();
    } catch (const std::exception& error) {
        AttemptOutcome outcome;
        outcome.failure = Failure{.message = error.what()};
        return outcome;
    }
}

[[nodiscard]] inline std::string failure_text(const AttemptOutcome& outcome) {
    return outcome.failure ? outcome.failure->message : "no failure";
}

/// How a run ended: its failure, or its values.
[[nodiscard]] inline std::string end_text(const AttemptOutcome& outcome) {
    if (outcome.failure) return outcome.failure->message;
    if (outcome.kind == OutcomeKind::stopped) return "it returns `stopped` though nobody asked it to stop";
    if (outcome.kind == OutcomeKind::failed) return "it returns `failed` without a failure";
    std::string text;
    for (const double value : outcome.values) text += (text.empty() ? "" : ", ") + (std::isnan(value) ? "NaN" : display_text(value));
    return text.empty() ? "no value" : text;
}

/// The rules that a trainer broke.
class TrainerProblems {
public:
    void expect(bool kept, std::string where, std::string what) {
        if (!kept) found_.push_back({std::move(where), std::move(what)});
    }
    /// Returns the problems and forgets them.
    [[nodiscard]] std::vector<TrainerProblem> take() { return std::exchange(found_, {}); }

    static AttemptOutcome run(Trainer& trainer, const TrainerJob& job, Progress& progress) {
        return outcome_of([&] { return trainer.run(job, progress); });
    }

private:
    std::vector<TrainerProblem> found_;
};

}  // namespace hpo::testing
