// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/base/time.hpp"
#include "hpo/failure/not_run.hpp"
#include "hpo/recovery/concept.hpp"
#include "hpo/sampler/suggest.hpp"
#include "hpo/store/retries.hpp"
#include "hpo/store/store.hpp"
#include "hpo/tuner/bookkeeping.hpp"
#include "hpo/tuner/devices/devices.hpp"
#include "hpo/tuner/enqueued.hpp"
#include "hpo/tuner/failure_answer.hpp"
#include "hpo/tuner/options.hpp"
#include "hpo/tuner/study_event.hpp"
#include "hpo/tuner/waiting_retry.hpp"

namespace hpo::tuner {

/// Says why the search space no longer gives the parameters of a lost trial. Returns nullopt if it does, with the same values.
template <Sampler S>
[[nodiscard]] std::optional<std::string> outside_space(S& sampler, const Space& space, const Trial& lost, const History& history,
                                                       const TuneOptions& options) {
    if (lost.params.empty()) return std::nullopt;  // it was enqueued, and its parameters are drawn later
    FixedValues fixed = options.fixed;
    for (const Param& param : lost.params) fixed.emplace_back(param.name, param.value());
    try {
        const TrialContext context{first_of_line(lost), history};
        const ParamSet now = suggest_params(sampler, space, context, Seed{options.seed}, fixed);
        for (const Param& param : now) {
            const Param* const had = lost.params.find(param.name);
            if (!had) return "the space now asks for '" + param.name + "', which the trial does not have";
            if (had->value() != param.value())
                return "'" + param.name + "' is fixed at " + display_text(param.value()) + " now, and " + display_text(had->value()) +
                       " in the trial";
        }
        if (now.size() != lost.params.size()) return std::string{"the space asks for fewer parameters now than the trial has"};
    } catch (const Error& error) {
        return std::string{"the space has changed: "} + error.what();
    }
    return std::nullopt;
}

/// The first attempt of a trial that goes on with a lost one after `step`, or runs it again if `step` is nullopt. It has the plan and the
/// changed parameters of the lost trial's last attempt, and the device of this run.
[[nodiscard]] Attempt continued(const Attempt& last, std::optional<std::int64_t> step);

/// How often in a row the process ended while this lost trial ran, before a checkpoint. The lost trials that it replaced count too. A stop
/// that ends trials in order breaks the row.
template <class TrialOf>
[[nodiscard]] int losses_in_a_row(const Trial& lost, const TrialOf& trial_of) {
    std::vector<std::int64_t> line = retry_history(lost);
    line.push_back(lost.number);
    int losses = 0;
    for (auto number = line.rbegin(); number != line.rend(); ++number) {
        const Trial& trial = trial_of(*number);
        if (trial.attempts.empty()) continue;  // it was not launched
        const Attempt& last = trial.attempts.back();
        const bool process_ended = last.failure && last.failure->kind == FailureKind::lost_worker;
        if (!process_ended || last.checkpoint_step) break;
        ++losses;
    }
    return losses;
}

/// Says why a lost trial is not run again, if its process ended too often. Returns nullopt if it may run again.
[[nodiscard]] std::optional<Unlaunchable> too_many_losses(const Trial& lost, Bookkeeping& books, const TuneOptions& options);

/// Begins a trial in place of a lost one, and ends it without launching it. Returns false if no trial could be begun.
[[nodiscard]] bool fail_in_place_of(const Trial& lost, const Unlaunchable& why, Bookkeeping& books, const Bookkeeping::Wanted& wanted);

/// Begins a trial in place of a lost one, with its parameters, or a new trial. For trials that ask for their parameters while they run.
/// Returns nullopt when the wanted number is done or running, or when another process was first.
[[nodiscard]] std::optional<std::int64_t> begin_live(const Bookkeeping::Wanted& wanted, Bookkeeping& books, const TuneOptions& options,
                                                     TuneObserver& observer);

/// Makes a trial that has not ended FAIL, with the mark `lost`. It then says nothing about its parameters and does not count.
void mark_lost(Trial& trial);

/// Ends a trial that an error of the tuner cut short, if the store still works. If its attempt had ended, the trial keeps what came of it.
void give_up(std::int64_t number, Bookkeeping& books);

/// Takes over a study's lost trials, and waits for trials that may become lost. For each, a new trial goes on from its checkpoint, or runs
/// it again if there is no checkpoint.
class LostTrials {
public:
    LostTrials(Bookkeeping& books, const Space& space, const TuneOptions& options, TuneObserver& observer)
        : books_{books}, space_{space}, options_{options}, observer_{observer} {}

    struct Begun {
        std::int64_t number = -1;
        std::optional<WaitingAttempt> attempt{};  ///< to be started; nullopt if the lost trial was never launched: propose a new attempt
    };
    /// Begins a trial in place of a lost one. If the last attempt of that one had failed, and its process was gone before the retry,
    /// `recovery` is asked about it. Returns nullopt if no lost trial can be run again, or if no trial is wanted.
    template <Sampler S, RecoveryPolicy R>
    [[nodiscard]] std::optional<Begun> take_over(S& sampler, const R& recovery, Devices& devices, const Bookkeeping::Wanted& wanted) {
        if (!books_.may_begin(wanted)) return std::nullopt;
        for (const std::int64_t number : books_.left_behind()) {
            if (std::find(left_alone_.begin(), left_alone_.end(), number) != left_alone_.end()) continue;
            const Trial lost = books_.trial(number);
            if (const auto why = too_many_losses(lost, books_, options_)) {
                if (!fail_in_place_of(lost, *why, books_, wanted)) return std::nullopt;
                continue;
            }
            if (const auto changed =
                    options_.asks_while_running() ? std::nullopt : outside_space(sampler, space_, lost, books_.searched(), options_)) {
                left_alone_.push_back(number);
                observer_.on(event::TrialLeftAlone{lost, *changed});
                continue;
            }
            const auto obstacle = options_.left_checkpoints && latest_checkpoint(lost) ? options_.left_checkpoints(lost) : std::nullopt;
            const auto step = obstacle && obstacle->empty() ? latest_checkpoint(lost) : std::nullopt;
            const auto begun = books_.begin_retry(wanted, lost, step);
            if (!begun) return std::nullopt;
            if (obstacle && !step) observer_.on(event::TrialBeginsAnew{lost, *obstacle});
            observer_.on(event::TrialGoesOn{books_.trial(*begun), lost});
            if (lost.attempts.empty()) return Begun{*begun};
            const Attempt& last = lost.attempts.back();
            WaitingAttempt next{.number = *begun, .attempt = continued(last, step)};
            if (!last.failure || last.failure->kind == FailureKind::lost_worker) return Begun{*begun, std::move(next)};
            FailureAnswer answer = answer_of(recovery,
                                             FailedAttempt{lost, last, *last.failure, books_.history(), &options_.refuses_plan,
                                                           devices.others_usable(last.plan.device), devices.names()},
                                             std::nullopt, options_);
            // If recovery gives up on the failure, it is met once more, and settled as in the run that was lost. Reports that were taken
            // over need the parameters that they were made with.
            if (!answer.is_retry() || (step && !resumed_by(answer.recovery, last))) return Begun{*begun, std::move(next)};
            next = waiting_retry(*begun, last, std::move(next.attempt), std::move(answer.recovery), options_);
            next.attempt.plan.device.clear();  // this run may have others
            return Begun{*begun, std::move(next)};
        }
        return std::nullopt;
    }

    /// Sleeps a moment if trials are missing: other processes run them, and may die. Returns false if none is missing.
    [[nodiscard]] bool wait_for_others(double seconds) {
        const std::int64_t missing = options_.trials - books_.done();
        if (missing <= 0 || options_.own_trials) return false;
        if (!std::exchange(told_of_others_, true)) observer_.on(event::WaitsForOthers{missing});
        sleep_seconds(seconds);
        return true;
    }

private:
    Bookkeeping& books_;
    const Space& space_;
    const TuneOptions& options_;
    TuneObserver& observer_;
    std::vector<std::int64_t> left_alone_;  ///< lost trials that cannot be run again in this process
    bool told_of_others_ = false;           ///< that they run the missing trials
};

inline Attempt continued(const Attempt& last, std::optional<std::int64_t> step) {
    Attempt attempt;
    attempt.plan = last.plan;
    attempt.plan.device.clear();  // this run may have others
    attempt.changed_params = last.changed_params;
    attempt.resumed_step = step;
    return attempt;
}

inline std::optional<Unlaunchable> too_many_losses(const Trial& lost, Bookkeeping& books, const TuneOptions& options) {
    const int losses = losses_in_a_row(lost, [&](std::int64_t number) -> const Trial& { return books.trial(number); });
    if (losses < options.max_losses) return std::nullopt;
    Unlaunchable why;
    why.failure.kind = FailureKind::lost_worker;
    why.failure.message = std::string{not_run_again} + "its process ended " + std::to_string(losses) +
                          " times in a row while it ran, the last time in trial " + std::to_string(lost.number) +
                          "; the reason is not known";
    return why;
}

inline bool fail_in_place_of(const Trial& lost, const Unlaunchable& why, Bookkeeping& books, const Bookkeeping::Wanted& wanted) {
    const auto begun = books.begin_retry(wanted, lost, std::nullopt);
    if (!begun) return false;
    settle_unlaunchable(books.trial(*begun), why);
    books.finish(*begun);
    return true;
}

inline std::optional<std::int64_t> begin_live(const Bookkeeping::Wanted& wanted, Bookkeeping& books, const TuneOptions& options,
                                              TuneObserver& observer) {
    for (const std::int64_t number : books.left_behind()) {
        const Trial lost = books.trial(number);
        if (const auto why = too_many_losses(lost, books, options)) {
            if (!fail_in_place_of(lost, *why, books, wanted)) return std::nullopt;
            continue;
        }
        const auto begun = books.begin_retry(wanted, lost, std::nullopt);
        if (begun) observer.on(event::TrialGoesOn{books.trial(*begun), lost});
        return begun;
    }
    return books.begin_trial(wanted);
}

inline void mark_lost(Trial& trial) {
    if (is_finished(trial.state)) return;
    trial.state = TrialState::fail;
    trial.user_attributes[lost_attribute] = std::string{lost_json};
}

inline void give_up(std::int64_t number, Bookkeeping& books) {
    if (!books.is_open(number)) return;
    mark_lost(books.trial(number));
    try {
        books.finish(number);
    } catch (const Error&) {  // the first error is the one to tell
    }
}

}  // namespace hpo::tuner
