// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hpo/base/shortened_log.hpp"
#include "hpo/core/outcome.hpp"
#include "hpo/sampler/suggest.hpp"
#include "hpo/space/space_trial.hpp"
#include "hpo/tuner/enqueued.hpp"
#include "hpo/tuner/in_process.hpp"
#include "hpo/tuner/lost_trials.hpp"
#include "hpo/tuner/session.hpp"
#include "hpo/tuner/study_event.hpp"

namespace hpo {

/// What an objective in this process sees of its trial. It asks for parameters, tells intermediate values, and may be told to stop. Valid
/// only during the call.
class LiveTrial : public SpaceTrial {
public:
    /// Receives a report. Returns true if the trial should stop.
    using ReportSink = std::function<bool(const ParamSet&, const Report&)>;

    LiveTrial(ParamSource& source, std::int64_t number, ReportSink sink) : SpaceTrial{source, number}, sink_{std::move(sink)} {}

    /// Call it before the report of the last step. The trial is then not pruned at that step.
    void last_step(std::int64_t step) noexcept { last_step_ = step; }
    /// Tells an intermediate value, once for each step.
    void report(std::int64_t step, double value) {
        pruned_ = sink_(params(), Report{.step = step, .value = value, .is_last = step == last_step_}) || pruned_;
    }
    /// Adds a line to the trial's log, which `hpo-analyze trial` shows.
    void log(std::string_view line) { log_.add_line(line); }
    [[nodiscard]] std::string take_log() { return std::exchange(log_, ShortenedLog{}).text(); }
    /// True if the trial is not worth finishing. The objective should then return. Its value is ignored.
    [[nodiscard]] bool should_prune() const noexcept {
        told_ = pruned_;
        return pruned_;
    }
    /// True if `should_prune` has told the objective to stop. An objective that never asked counts as run to its end.
    [[nodiscard]] bool was_told_to_stop() const noexcept { return told_; }

private:
    ReportSink sink_;
    std::optional<std::int64_t> last_step_;
    ShortenedLog log_;
    bool pruned_ = false;
    mutable bool told_ = false;
};

}  // namespace hpo

namespace hpo::tuner {

/// The loop of a define-by-run study in this process. It runs one trial after the other, and suggests parameters while the objective runs.
/// A failed trial is not run again. The recovery policy only chooses between FAIL and PRUNED.
template <Sampler S, Pruner P, MemoryGuard G, RecoveryPolicy R>
class LiveSession {
public:
    LiveSession(Policies<S, P, G, R>& policies, Bookkeeping& books, const TuneOptions& options, TuneObserver& observer)
        : policies_{policies}, books_{books}, options_{options}, observer_{observer} {}

    /// Calls `objective(LiveTrial&) -> std::vector<double>` until the asked number of trials is done. Returns true if it was stopped.
    template <class Objective>
    bool run(const Objective& objective) {
        const Stopwatch watch;
        while (books_.done() < options_.trials) {
            if (options_.stop_requested && options_.stop_requested()) return true;
            if (breaker_.trip()) break;
            if ((all_tried_ = proposes_nothing_more(policies_.sampler, books_, options_.fixed))) break;
            if (options_.time_seconds && watch.seconds() >= *options_.time_seconds) break;
            if (const auto number = begin_live({.trials = options_.trials}, books_, options_, observer_)) run_trial(*number, objective);
            else sleep_seconds(0.1);  // other processes run the missing ones
            books_.heartbeat();
            observer_.on(event::Idle{});
        }
        books_.settle_lost();
        return false;
    }

    /// Why the breaker ended the run, after `run`.
    [[nodiscard]] const std::optional<BreakerTrip>& broken() const noexcept { return breaker_.trip(); }
    /// True if the sampler had proposed everything, after `run`.
    [[nodiscard]] bool all_tried() const noexcept { return all_tried_; }

private:
    template <class Objective>
    void run_trial(std::int64_t number, const Objective& objective) {
        try {
            std::string prune_reason;
            AttemptOutcome outcome = run_objective(number, objective, prune_reason);
            conclude(number, std::move(outcome), prune_reason);
        } catch (...) {
            give_up(number, books_);
            throw;
        }
    }

    template <class Objective>
    AttemptOutcome run_objective(std::int64_t number, const Objective& objective, std::string& prune_reason) {
        auto fixed = books_.fixed_values(number, options_);
        bool is_again = !retry_history(books_.trial(number)).empty();  ///< runs with the parameters of a lost trial
        /// The objective no longer asks for those parameters, so the trial draws its own.
        const auto draw_anew = [&](const std::string& why) {
            is_again = false;
            const Trial lost = books_.trial(retry_history(books_.trial(number)).back());
            observer_.on(event::TrialLeftAlone{lost, "the space has changed: " + why});
            books_.set_params(number, {});
            fixed = books_.fixed_values(number, options_);
        };
        const History history = books_.searched();
        const Seed seed{options_.seed};
        books_.begin_attempt(number, Attempt{});
        for (int round = 0;; ++round) {
            const TrialContext context{.number = number, .history = history, .seed = seed, .proposal = round, .fixed = &fixed};
            detail::SamplerSource<S> source{
                policies_.sampler, context, fixed, {.trial = seed.derive(static_cast<std::uint64_t>(number)), .round = 0, .draw = round}};
            std::exception_ptr listener_error;  // never the trial's failure, even if the objective catches it
            LiveTrial live{source, number, [&](const ParamSet& params, const Report& report) {
                               try {
                                   if (params.size() > books_.trial(number).params.size()) books_.set_params(number, params);
                                   return judge(number, report, prune_reason);
                               } catch (...) {
                                   listener_error = std::current_exception();
                                   throw;
                               }
                           }};
            try {
                AttemptOutcome outcome = run_attempt([&] { return objective(live); }, [&] { return live.was_told_to_stop(); });
                if (listener_error) std::rethrow_exception(listener_error);
                if (source.fault()) std::rethrow_exception(source.fault());
                if (is_again && source.has_refused_fixed()) {
                    draw_anew(outcome.failure ? outcome.failure->message : "it refuses a value of the trial");
                    continue;
                }
                books_.set_params(number, live.params());
                outcome.log = live.take_log();
                return outcome;
            } catch (const SpaceRejection& rejection) {
                if (is_again) draw_anew(rejection.reason);
                if (round + 1 < max_refused_proposals) continue;
                AttemptOutcome refused;
                refused.failure =
                    Failure{.kind = FailureKind::trainer_error,
                            .message = std::to_string(max_refused_proposals) + " proposals were refused; the last: " + rejection.reason};
                return refused;
            }
        }
    }

    bool judge(std::int64_t number, const Report& report, std::string& prune_reason) {
        const Verdict verdict = books_.report_and_judge(number, report, policies_.pruner);
        if (verdict.prunes()) prune_reason = verdict.reason;
        return verdict.prunes();
    }

    void conclude(std::int64_t number, AttemptOutcome outcome, const std::string& prune_reason) {
        Trial& trial = books_.trial(number);
        Attempt& attempt = trial.attempts.back();
        books_.keep_log(number, outcome.log);
        keep_outcome(attempt, outcome);
        if (outcome.kind == OutcomeKind::stopped) {
            settle_pruned(trial, prune_reason);
        } else if (outcome.kind == OutcomeKind::complete) {
            enqueued_.tell_unused(trial, observer_);
            attempt.failure = settle_complete(trial, std::move(outcome.values), books_.study().directions.size());
            if (attempt.failure) attempt.outcome = OutcomeKind::failed;
        } else {
            explain(attempt, std::nullopt);
            const History history = books_.history();
            const Recovery recovery = policies_.recovery.recover(FailedAttempt{trial, attempt, *attempt.failure, history});
            keep_answer(attempt, recovery);
            settle_failed(trial, *attempt.failure, recovery, std::nullopt);
        }
        add_source_attributes(trial);
        books_.end_attempt(number);
        books_.finish(number);
        breaker_.see(books_.trial(number));
    }

    Policies<S, P, G, R>& policies_;
    Bookkeeping& books_;
    const TuneOptions& options_;
    TuneObserver& observer_;
    EnqueuedValues enqueued_;
    Breaker breaker_{options_.breaker, options_.breaker_counts};
    bool all_tried_ = false;
};

}  // namespace hpo::tuner
