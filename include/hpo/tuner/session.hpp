// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hpo/sampler/suggest.hpp"
#include "hpo/trainer/executor.hpp"
#include "hpo/tuner/attempt_admission.hpp"
#include "hpo/tuner/attempt_job.hpp"
#include "hpo/tuner/attempt_reports.hpp"
#include "hpo/tuner/bookkeeping.hpp"
#include "hpo/tuner/devices/devices.hpp"
#include "hpo/tuner/enqueued.hpp"
#include "hpo/tuner/failure_answer.hpp"
#include "hpo/tuner/lost_trials.hpp"
#include "hpo/tuner/policies.hpp"
#include "hpo/tuner/study_event.hpp"
#include "hpo/tuner/verdicts.hpp"
#include "hpo/tuner/waiting_retry.hpp"

namespace hpo {

/// Calls `step` until it returns, at most `most` times. Errors that it throws are dropped. Call it only where an earlier error is thrown
/// again afterwards.
template <class Step>
requires std::invocable<Step&>
void despite_errors(std::size_t most, Step&& step) {
    while (most-- > 0) {
        try {
            step();
            return;
        } catch (...) {  // the earlier error is the one to tell
        }
    }
}

}  // namespace hpo

namespace hpo::tuner {

/// The loop of a study whose trials run on executors: suggest, estimate, admit, run, judge, recover, tell. Only here do the policies'
/// decisions take effect.
template <Sampler S, Pruner P, MemoryGuard G, RecoveryPolicy R>
class Session final : private AttemptReports<S, P> {
public:
    Session(Policies<S, P, G, R>& policies, Bookkeeping& books, const Space& space, std::span<const TuneDevice> devices,
            const TuneOptions& options, TuneObserver& observer)
        : AttemptReports<S, P>{policies.sampler, policies.pruner, books, devices_, options},
          policies_{policies},
          books_{books},
          space_{space},
          options_{options},
          observer_{observer},
          devices_{devices, policies.guard.evidence() != Evidence::none, options.plan} {}

    /// Runs until the asked number of trials is done, time is up, the breaker trips or a stop is requested. Returns true if it was a stop.
    /// If something throws, the running trials first end as interrupted.
    bool run() {
        try {
            loop();
            drain();
        } catch (...) {
            stopping_ = true;
            this->hears_only_ends();
            despite_errors(in_flight_ + running_.size() + 1, [&] { drain(); });  // the end of a trial may throw, and giving it up
            throw;
        }
        books_.settle_lost();
        return stopping_;
    }

    /// Why the run ended early: the breaker tripped, or no configuration was left to try.
    [[nodiscard]] const std::optional<BreakerTrip>& broken() const noexcept { return breaker_.trip(); }
    [[nodiscard]] const std::optional<std::string>& exhausted() const noexcept { return admission_.exhausted(); }
    /// True if the sampler had proposed everything.
    [[nodiscard]] bool all_tried() const noexcept { return admission_.all_tried(); }

private:
    static constexpr double poll_seconds = 0.1;
    void loop() {
        const Stopwatch watch;
        const auto out_of_time = [&] { return !options_.allows_more(watch.seconds()); };
        while (!check_stop()) {
            ask_again();
            while (!check_stop() && start_held_back()) {
            }
            while (devices_.has_room() && !check_stop()) {
                if (!retries_.empty()) {
                    WaitingAttempt retry = std::move(retries_.front());
                    retries_.erase(retries_.begin());
                    go_on(std::move(retry));
                } else if (out_of_time() || breaker_.trip()) {
                    break;
                } else if (auto replay = replays_.next()) {
                    start(*std::move(replay));
                } else if (!(go_on_with_lost() || begin_trial())) break;
            }
            if (!running_.empty() || replays_.any_running()) devices_.wait(*this, poll_seconds);
            else if (stopping_ || out_of_time() || breaker_.trip() || exhausted() || all_tried() ||
                     !lost_trials_.wait_for_others(poll_seconds))
                break;
            books_.heartbeat();
            devices_.idle(observer_);
        }
    }

    [[nodiscard]] Bookkeeping::Wanted wanted() const { return {.trials = options_.trials, .own_running = std::ssize(running_)}; }
    /// Returns false if no trial is left to begin.
    bool begin_trial() {
        if (!books_.may_begin(wanted()) || admission_.nothing_left()) return false;
        const auto number = books_.begin_trial(wanted());
        if (!number) return false;
        running_.push_back(*number);
        propose(*number);
        return true;
    }
    /// Begins a trial in place of a lost one. Returns false if there is none.
    bool go_on_with_lost() {
        auto begun = lost_trials_.take_over(policies_.sampler, policies_.recovery, devices_, wanted());
        if (!begun) return false;
        running_.push_back(begun->number);
        if (begun->attempt) go_on(*std::move(begun->attempt));
        else propose(begun->number);
        return true;
    }

    bool check_stop() { return stopping_ = stopping_ || (options_.stop_requested && options_.stop_requested()); }

    /// Call it after a stop or an error. It waits only for jobs that the executor holds, so it returns even if the store fails.
    void drain() {
        if (in_flight_ > 0) devices_.interrupt();
        while (in_flight_ > 0) devices_.wait(*this, poll_seconds);
        retries_.clear();
        replays_.drop_waiting();
        while (!running_.empty()) give_up(running_.front());
    }

    /// Ends a trial, as lost unless its attempt has ended.
    void give_up(std::int64_t number) {
        devices_.release(number);
        this->forget(number);
        std::erase(running_, number);
        mark_lost(books_.trial(number));
        books_.finish(number);
    }

    /// Once attempts have ended, the guard may say more about those that wait. A trial that it refuses now gets other parameters.
    void ask_again() {
        if (!std::exchange(knows_more_, false)) return;
        for (WaitingAttempt& waiting : devices_.take_waiting([&](const WaitingAttempt& each) { return admission_.knows_more(each); })) {
            if (check_stop()) return;  // drain gives up the trial
            const std::string device = waiting.attempt.plan.device;
            const bool fits = admission_.still_fits(waiting, [&] { return check_stop(); });
            if (!fits || waiting.attempt.plan.device != device) devices_.release(waiting.number);  // it waits there no longer
            fits ? start(std::move(waiting)) : propose(waiting.number, 1);
        }
    }

    void propose(std::int64_t number, int first_round = 0) {
        typename AttemptAdmission<S, P, G, R>::Proposal proposal;
        try {
            proposal = admission_.propose(
                number, devices_.best(), [&] { return check_stop(); }, first_round);
        } catch (...) {
            give_up(number);
            throw;
        }
        if (proposal.unlaunchable) {
            settle_unlaunchable(books_.trial(number), *proposal.unlaunchable);
            return finish(number);
        }
        if (!proposal.attempt) return give_up(number);
        if (!options_.asks_while_running()) enqueued_.tell_unused(books_.trial(number), observer_);
        start({number, std::move(*proposal.attempt)});
    }

    /// Starts a retry, or an attempt that goes on with a lost trial. It runs where its plan says, if that device can be used.
    void go_on(WaitingAttempt retry) {
        if (const std::string& name = retry.attempt.plan.device; !name.empty() && !devices_.find(name))
            books_.note_once(retry.number, "this run has no device '" + name + "'; the retry runs where it can");
        admission_.estimate(retry.number, devices_.for_retry(retry, devices_of(books_.trial(retry.number))), retry.attempt);
        if (check_stop()) return give_up(retry.number);
        start(std::move(retry));
    }

    void start(WaitingAttempt attempt) {
        const Trial* const trial = Replays::is_replay(attempt.number) ? nullptr : &books_.trial(attempt.number);
        if (auto admitted = devices_.admit(std::move(attempt), trial, observer_)) submit(*std::move(admitted));
    }
    /// Starts an attempt that waited for memory, if there is memory for it now. Returns false if none could start.
    bool start_held_back() {
        auto admitted = devices_.start_held_back();
        if (admitted) submit(*std::move(admitted));
        return admitted.has_value();
    }

    void submit(WaitingAttempt admitted) {
        const std::int64_t number = admitted.number;
        SessionDevice& device = devices_.of(admitted.attempt.plan.device);
        Executor& executor = device.what.executor;
        if (Replays::is_replay(number)) return submit_job(executor, replays_.job(number));
        if (admitted.timed_out) books_.note_once(number, waited_in_vain(*admitted.wait_seconds));
        admitted.attempt.fresh_worker = admitted.fresh_worker;
        describe(admitted.attempt, params_of(books_.trial(number), admitted.attempt), executor);
        books_.begin_attempt(number, std::move(admitted.attempt));
        const auto reserved = device.reservations.reservation(number);
        Job job = job_of(books_.study(), books_.trial(number), reserved, options_);
        job.settles = admitted.least_bytes == 0 && reserved;  // else it keeps all of a larger reservation
        submit_job(executor, job);
    }
    void submit_job(Executor& executor, const Job& job) {
        const std::size_t others = in_flight_++;
        try {
            executor.submit(job, *this);
        } catch (...) {
            in_flight_ = others;  // right also if the job had told its end
            throw;
        }
    }

    void end(std::int64_t number, AttemptOutcome outcome) override {
        --in_flight_;
        knows_more_ = true;
        const auto reserved = devices_.release(number);
        if (Replays::is_replay(number)) return replays_.end(number, outcome);
        for (const MemoryMark& mark : outcome.memory) books_.memory_mark(number, mark);
        books_.keep_log(number, outcome.log);
        Trial& trial = books_.trial(number);
        for (const auto& dropped : attach(trial, outcome, books_.store())) observer_.on(event::AttributeDropped{trial, dropped});
        Attempt& attempt = trial.attempts.back();
        keep_outcome(attempt, outcome);
        for (WaitingAttempt& waiting : replays_.drop_from(devices_.see(attempt, observer_))) retries_.push_back(std::move(waiting));
        switch (outcome.kind) {
            case OutcomeKind::interrupted: books_.end_attempt(number); return give_up(number);
            case OutcomeKind::stopped:
                if (!attempt.failure) attempt.failure = failure_of_pruned(outcome);
                if (attempt.failure) explain(attempt, attempt.capacity_bytes);
                settle_pruned(trial, this->take_prune_reason(number, outcome));
                break;
            case OutcomeKind::complete:
                if (auto failure = settle_complete(trial, std::move(outcome.values), books_.study().directions.size())) {
                    attempt.outcome = OutcomeKind::failed;
                    attempt.failure = std::move(failure);
                    return answer_failure(number, reserved);
                }
                break;
            case OutcomeKind::failed:
                if (!attempt.failure)
                    attempt.failure = Failure{.kind = FailureKind::trainer_error, .message = "the trainer failed without saying why"};
                return answer_failure(number, reserved);
        }
        complete_record(trial);  // first, because the next call may throw
        books_.end_attempt(number);
        conclude(number);
    }

    /// `reserved` are the bytes of the device that were reserved for the attempt, or nullopt if it had no reservation.
    void answer_failure(std::int64_t number, std::optional<std::int64_t> reserved) {
        Trial& trial = books_.trial(number);
        Attempt& attempt = trial.attempts.back();
        explain(attempt, attempt.capacity_bytes);
        replays_.see(trial, attempt, devices_.of(attempt.plan.device).what.executor, reserved);
        FailureAnswer answer = answer_of(policies_.recovery,
                                         FailedAttempt{trial, attempt, *attempt.failure, books_.history(), &options_.refuses_plan,
                                                       devices_.others_usable(attempt.plan.device), devices_.names()},
                                         reserved, options_);
        keep_answer(attempt, answer.recovery);
        books_.note_once(number, answer.recovery.note);
        if (answer.is_retry() && !stopping_) {
            books_.end_attempt(number);
            Attempt next;
            if (!answer.anew) next.resumed_step = resumed_by(answer.recovery, attempt);
            books_.restart_reports(number, next.resumed_step);
            trial.state = TrialState::running;
            retries_.push_back(waiting_retry(number, attempt, std::move(next), std::move(answer.recovery), options_));
            retries_.back().least_bytes = answer.least_bytes;
            return;
        }
        books_.end_attempt(number);
        if (answer.is_retry()) return give_up(number);
        settle_failed(trial, *attempt.failure, answer.recovery, attempt.capacity_bytes);
        complete_record(trial);
        conclude(number);
    }

    /// What a trial that ends says beside its value.
    static void complete_record(Trial& trial) {
        if (!trial.attempts.back().failure) settle_feasible(trial, trial.attempts.back().capacity_bytes);
        add_source_attributes(trial);
    }

    void conclude(std::int64_t number) {
        this->settle(number);
        if (options_.asks_while_running()) enqueued_.tell_unused(books_.trial(number), observer_);
        finish(number);
    }

    void finish(std::int64_t number) {
        std::erase(running_, number);
        books_.finish(number);
        breaker_.see(books_.trial(number));
    }

    Policies<S, P, G, R>& policies_;
    Bookkeeping& books_;
    const Space& space_;
    const TuneOptions& options_;
    TuneObserver& observer_;
    std::size_t in_flight_ = 0;            ///< jobs that the executor holds
    std::vector<std::int64_t> running_;    ///< trials begun and not finished, also those that wait for a retry
    std::vector<WaitingAttempt> retries_;  ///< oldest first
    Devices devices_;
    AttemptAdmission<S, P, G, R> admission_{policies_, books_, space_, devices_, options_};
    LostTrials lost_trials_{books_, space_, options_, observer_};
    EnqueuedValues enqueued_;
    Replays replays_{books_, options_, observer_};
    Breaker breaker_{options_.breaker, options_.breaker_counts};
    bool knows_more_ = false;  ///< attempts have ended since the guard was asked about those that wait
    bool stopping_ = false;
};

}  // namespace hpo::tuner
