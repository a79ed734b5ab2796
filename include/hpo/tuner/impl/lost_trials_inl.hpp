// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hpo/base/error.hpp"
#include "hpo/base/inline.hpp"
#include "hpo/failure/not_run.hpp"
#include "hpo/store/store.hpp"
#include "hpo/tuner/lost_trials.hpp"

namespace hpo::tuner {

HPO_INLINE Attempt continued(const Attempt& last, std::optional<std::int64_t> step) {
    Attempt attempt;
    attempt.plan = last.plan;
    attempt.plan.device.clear();  // this run may have others
    attempt.changed_params = last.changed_params;
    attempt.resumed_step = step;
    return attempt;
}

HPO_INLINE std::optional<Unlaunchable> too_many_losses(const Trial& lost, Bookkeeping& books, const TuneOptions& options) {
    const int losses = losses_in_a_row(lost, [&](std::int64_t number) -> const Trial& { return books.trial(number); });
    if (losses < options.max_losses) return std::nullopt;
    Unlaunchable why;
    why.failure.kind = FailureKind::lost_worker;
    why.failure.message = std::string{not_run_again} + "its process ended " + std::to_string(losses) +
                          " times in a row while it ran, the last time in trial " + std::to_string(lost.number) +
                          "; the reason is not known";
    return why;
}

HPO_INLINE bool fail_in_place_of(const Trial& lost, const Unlaunchable& why, Bookkeeping& books, const Bookkeeping::Wanted& wanted) {
    const auto begun = books.begin_retry(wanted, lost, std::nullopt);
    if (!begun) return false;
    settle_unlaunchable(books.trial(*begun), why);
    books.finish(*begun);
    return true;
}

HPO_INLINE std::optional<std::int64_t> begin_live(const Bookkeeping::Wanted& wanted, Bookkeeping& books, const TuneOptions& options,
                                                  TuneObserver& observer) {
    for (const std::int64_t number : books.left_behind()) {
        const Trial lost = books.trial(number);
        if (const auto why = too_many_losses(lost, books, options)) {
            if (!fail_in_place_of(lost, *why, books, wanted)) return std::nullopt;
            continue;
        }
        const auto begun = books.begin_retry(wanted, lost, std::nullopt);
        if (begun) observer.goes_on(books.trial(*begun), lost);
        return begun;
    }
    return books.begin_trial(wanted);
}

HPO_INLINE void give_up(std::int64_t number, Bookkeeping& books) {
    Trial& trial = books.trial(number);
    if (is_finished(trial.state)) return;
    trial.state = TrialState::fail;
    trial.user_attributes[lost_attribute] = std::string{lost_json};
    try {
        books.finish(number);
    } catch (const Error&) {  // the first error is the one to tell
    }
}

}  // namespace hpo::tuner
