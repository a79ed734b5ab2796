// SPDX-License-Identifier: MIT
#pragma once

#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/memory/calibration/model_family.hpp"
#include "hpo/sampler/suggest.hpp"
#include "hpo/trainer/executor.hpp"
#include "hpo/tuner/attempt_admission.hpp"
#include "hpo/tuner/attempt_job.hpp"
#include "hpo/tuner/attempt_reservations.hpp"
#include "hpo/tuner/bookkeeping.hpp"
#include "hpo/tuner/enqueued.hpp"
#include "hpo/tuner/lost_trials.hpp"
#include "hpo/tuner/policies.hpp"
#include "hpo/tuner/reservation.hpp"
#include "hpo/tuner/verdicts.hpp"
#include "hpo/tuner/waiting_retry.hpp"

namespace hpo::tuner {

/// The loop of a study whose parameters are known before a trial runs: suggest, estimate, admit, run, judge, recover, tell. Only here do
/// the policies' decisions take effect.
template <Sampler S, Pruner P, MemoryGuard G, RecoveryPolicy R>
class Session final : private ExecutorEvents {
public:
    Session(Policies<S, P, G, R>& policies, Bookkeeping& books, const Space& space, Executor& executor, const TuneOptions& options,
            TuneObserver& observer)
        : policies_{policies}, books_{books}, space_{space}, executor_{executor}, options_{options}, observer_{observer} {}

    /// Runs until the asked number of trials is done, time is up, the breaker trips or a stop is requested. Returns true if it was a stop.
    /// If something throws, the running trials first end as interrupted.
    bool run() {
        try {
            loop();
        } catch (...) {
            stopping_ = true;
            try {
                drain();
            } catch (...) {  // the first error is the one to tell
            }
            throw;
        }
        drain();
        books_.settle_lost();
        return stopping_;
    }

    /// Why the breaker ended the run, after `run`.
    [[nodiscard]] const std::optional<BreakerTrip>& broken() const noexcept { return breaker_.trip(); }

private:
    static constexpr double poll_seconds = 0.1;

    void loop() {
        const Stopwatch watch;
        const auto out_of_time = [&] { return options_.time_seconds && watch.seconds() >= *options_.time_seconds; };
        while (!check_stop()) {
            while (executor_.free_slots() > 0 && !check_stop() && start_held_back()) {
            }
            while (executor_.free_slots() > reservations_.waiting() && !check_stop()) {
                if (!retries_.empty()) {
                    WaitingAttempt retry = std::move(retries_.front());
                    retries_.erase(retries_.begin());
                    go_on(std::move(retry));
                } else if (out_of_time() || breaker_.trip() || !(go_on_with_lost() || begin_trial())) break;
            }
            if (!running_.empty()) executor_.wait(*this, poll_seconds);
            else if (stopping_ || out_of_time() || breaker_.trip() || !wait_for_others()) break;
            books_.heartbeat();
            observer_.idle();
        }
    }

    [[nodiscard]] Bookkeeping::Wanted wanted() const { return {.trials = options_.trials, .own_running = std::ssize(running_)}; }
    /// Returns false if no trial is left to begin.
    bool begin_trial() {
        const auto number = books_.begin_trial(wanted());
        if (number) launch(*number);
        return number.has_value();
    }
    /// Begins a trial in place of a lost one. Returns false if there is none.
    bool go_on_with_lost() {
        auto begun = lost_trials_.take_over(policies_.sampler, wanted());
        if (!begun) return false;
        if (!begun->attempt) {
            launch(begun->number);
        } else {
            running_.push_back(begun->number);
            go_on({begun->number, std::move(*begun->attempt)});
        }
        return true;
    }

    /// Returns false if the asked number is done. Else other processes run the missing trials. If one of them dies, its trials are begun
    /// again here.
    bool wait_for_others() {
        const std::int64_t missing = options_.trials - books_.done();
        if (missing <= 0) return false;
        if (!std::exchange(waiting_, true)) observer_.waiting_for_others(missing);
        sleep_seconds(poll_seconds);
        return true;
    }

    bool check_stop() {
        if (!stopping_ && options_.stop_requested && options_.stop_requested()) stopping_ = true;
        return stopping_;
    }

    /// Call it after a stop or an error. Running trials end as interrupted, and the others are given up. It waits only for jobs that the
    /// executor holds, so it returns even if the store fails.
    void drain() {
        if (in_flight_ > 0) executor_.interrupt();
        while (in_flight_ > 0) executor_.wait(*this, poll_seconds);
        retries_.clear();
        while (!running_.empty()) give_up(running_.front());
    }

    /// Ends a trial as lost. It says nothing about its parameters and does not count.
    void give_up(std::int64_t number) {
        reservations_.release(number);
        std::erase(running_, number);
        Trial& trial = books_.trial(number);
        trial.state = TrialState::fail;
        trial.user_attributes[lost_attribute] = std::string{lost_json};
        books_.finish(number);
    }

    /// Proposes a trial's parameters and starts its first attempt.
    void launch(std::int64_t number) {
        running_.push_back(number);
        typename AttemptAdmission<S, P, G, R>::Proposal proposal;
        try {
            proposal = admission_.propose(number, [&] { return check_stop(); });
        } catch (...) {
            give_up(number);
            throw;
        }
        if (proposal.unlaunchable) {
            settle_unlaunchable(books_.trial(number), *proposal.unlaunchable);
            return finish(number);
        }
        if (!proposal.attempt) return give_up(number);
        for (const std::string& what : enqueued_.not_used(books_.trial(number))) observer_.left_out(books_.trial(number), what);
        start({number, std::move(*proposal.attempt)});
    }

    /// Starts an attempt that was chosen without the guard: a retry, or one that goes on with a lost trial.
    void go_on(WaitingAttempt retry) {
        admission_.estimate(retry.number, retry.attempt);
        if (check_stop()) return give_up(retry.number);
        start(std::move(retry));
    }

    void start(WaitingAttempt attempt) {
        if (auto admitted = reservations_.admit(std::move(attempt))) submit(*std::move(admitted));
    }
    /// Starts an attempt that waited for memory, if there is memory for it now. Returns false if none could start.
    bool start_held_back() {
        auto admitted = reservations_.next();
        if (admitted) submit(*std::move(admitted));
        return admitted.has_value();
    }

    void submit(WaitingAttempt admitted) {
        const std::int64_t number = admitted.number;
        if (admitted.timed_out) books_.note_once(number, waited_in_vain(*admitted.wait_seconds));
        admitted.attempt.capacity_bytes = executor_.capacity_bytes();
        admitted.attempt.fresh_worker = admitted.fresh_worker;
        const RunsOn runs_on = executor_.runs_on();
        admitted.attempt.device_name = runs_on.device_name;
        admitted.attempt.model_family =
            memory::model_family(runs_on.trainer, params_of(books_.trial(number), admitted.attempt), admitted.attempt.plan);
        books_.begin_attempt(number, std::move(admitted.attempt));
        Job job = job_of(books_.study(), books_.trial(number), reservations_.reservation(number), options_);
        job.settles = admitted.least_bytes == 0 && reservations_.reservation(number);  // else it keeps all of a larger reservation
        const std::size_t others = in_flight_++;
        try {
            executor_.submit(job, *this);
        } catch (...) {
            in_flight_ = others;  // right also if the job had told its end
            throw;
        }
    }

    void on_started(std::int64_t number, std::int64_t worker_pid) override { books_.trial(number).attempts.back().worker_pid = worker_pid; }

    bool on_report(std::int64_t number, const Report& report) override {
        reservations_.reported(number, report.step);
        const Verdict verdict = books_.report_and_judge(number, report, policies_.pruner);
        if (verdict.prunes()) prune_reasons_[number] = verdict.reason;
        return verdict.prunes();
    }

    void on_memory(std::int64_t number, const MemoryMark& mark) override {
        books_.memory_mark(number, mark);
        if (mark.name == settled_mark && mark.reading.limit)
            reservations_.shrink(number, *mark.reading.limit + outside_allocator(books_.trial(number).attempts.back()));
    }

    void on_checkpoint(std::int64_t number, std::int64_t step) override { books_.checkpointed(number, step); }

    void on_end(std::int64_t number, AttemptOutcome outcome) override {
        --in_flight_;
        const auto reserved = reservations_.release(number);
        for (const MemoryMark& mark : outcome.memory) books_.memory_mark(number, mark);
        books_.keep_log(number, outcome.log);
        Trial& trial = books_.trial(number);
        for (const auto& dropped : attach(trial, outcome, books_.store())) observer_.attribute_dropped(trial, dropped);
        Attempt& attempt = trial.attempts.back();
        keep_outcome(attempt, outcome);
        switch (outcome.kind) {
            case OutcomeKind::interrupted: books_.end_attempt(number); return give_up(number);
            case OutcomeKind::stopped: settle_pruned(trial, prune_reasons_[number]); break;
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
        books_.end_attempt(number);
        conclude(number);
    }

    /// `reserved` are the bytes of the device that were reserved for the attempt, or nullopt if it had no reservation.
    void answer_failure(std::int64_t number, std::optional<std::int64_t> reserved) {
        Trial& trial = books_.trial(number);
        Attempt& attempt = trial.attempts.back();
        explain(attempt, executor_.capacity_bytes());
        const bool anew = failed_to_go_on(trial, attempt);
        const bool more = !anew && reserved && exceeded_reservation(attempt, *reserved, attempt.capacity_bytes);
        Recovery recovery =
            anew   ? begin_anew(attempt)
            : more ? ask_for_more(attempt, *reserved)
                   : policies_.recovery.recover(FailedAttempt{trial, attempt, *attempt.failure, books_.history(), &options_.refuses_plan});
        bound_retry(recovery, attempt, options_);
        attempt.decision = recovery.reason;
        books_.note_once(number, recovery.note);
        if (recovery.action == Recovery::Action::retry && !stopping_) {
            books_.end_attempt(number);
            Attempt next;
            if (!anew) next.resumed_step = resumed_by(recovery, attempt);
            books_.restart_reports(number, next.resumed_step);
            trial.state = TrialState::running;
            retries_.push_back(waiting_retry(number, attempt, std::move(next), std::move(recovery), options_));
            retries_.back().least_bytes = more ? larger_reservation(attempt, *reserved) : 0;
            return;
        }
        books_.end_attempt(number);
        if (recovery.action == Recovery::Action::retry) return give_up(number);
        settle_failed(trial, *attempt.failure, recovery, executor_.capacity_bytes());
        conclude(number);
    }

    void conclude(std::int64_t number) {
        Trial& trial = books_.trial(number);
        if (!trial.attempts.back().failure) settle_feasible(trial, executor_.capacity_bytes());
        add_source_attributes(trial);
        prune_reasons_.erase(number);
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
    Executor& executor_;
    const TuneOptions& options_;
    TuneObserver& observer_;
    std::size_t in_flight_ = 0;            ///< jobs that the executor holds
    std::vector<std::int64_t> running_;    ///< trials begun and not finished, also those that wait for a retry
    std::vector<WaitingAttempt> retries_;  ///< oldest first
    AttemptReservations reservations_{options_.reservations, options_.predicts&& policies_.guard.evidence() != Evidence::none,
                                      [this] { return executor_.free_now(); }};
    AttemptAdmission<S, P, G, R> admission_{policies_, books_, space_, executor_, options_};
    LostTrials lost_trials_{books_, space_, options_, observer_};
    EnqueuedValues enqueued_;
    std::map<std::int64_t, std::string> prune_reasons_;
    Breaker breaker_{options_.breaker};
    bool stopping_ = false;
    bool waiting_ = false;  ///< true once the observer was told that other processes run the missing trials
};

}  // namespace hpo::tuner
