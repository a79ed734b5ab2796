// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hpo/core/memory_leak.hpp"
#include "hpo/failure/not_run.hpp"
#include "hpo/guard/admission.hpp"
#include "hpo/guard/calibration/model_family.hpp"
#include "hpo/sampler/random.hpp"
#include "hpo/sampler/suggest.hpp"
#include "hpo/store/retries.hpp"
#include "hpo/trainer/executor.hpp"
#include "hpo/tuner/bookkeeping.hpp"
#include "hpo/tuner/devices/devices.hpp"
#include "hpo/tuner/enqueued.hpp"
#include "hpo/tuner/failed_configurations.hpp"
#include "hpo/tuner/policies.hpp"
#include "hpo/tuner/replays.hpp"

namespace hpo::tuner {

/// Copies the effective batch from the parameters into a plan, if the study names such a parameter and the trial has it.
inline void copy_effective_batch(const ParamSet& params, const TuneOptions& options, ExecutionPlan& plan) {
    if (const auto batch = params.whole_number(options.effective_batch_parameter)) plan.effective_batch = batch;
}

/// True if an enqueued trial waits. It runs whatever was tried.
[[nodiscard]] inline bool waits(const History& history) {
    return std::ranges::any_of(history.trials, [](const Trial& trial) { return trial.state == TrialState::waiting; });
}

/// True if a sampler has no configuration left to propose, and no enqueued trial waits.
template <Sampler S>
[[nodiscard]] bool proposes_nothing_more(S& sampler, Bookkeeping& books, const FixedValues& fixed, Asker asker = Asker::space) {
    if constexpr (ExhaustiveSampler<S>) {
        if (!is_exhaustive(sampler) || waits(books.history())) return false;
        const History history = books.searched();
        return sampler.all_tried(
            {.number = static_cast<std::int64_t>(history.trials.size()), .history = history, .asker = asker, .fixed = &fixed});
    }
    return false;
}

/// Asks the guard about attempts before they are launched. It gets the evidence that the guard wants from the executor.
template <Sampler S, Pruner P, MemoryGuard G, RecoveryPolicy R>
class AttemptAdmission {
public:
    AttemptAdmission(Policies<S, P, G, R>& policies, Bookkeeping& books, const Space& space, Devices& devices, const TuneOptions& options)
        : policies_{policies}, books_{books}, space_{space}, devices_{devices}, options_{options} {}

    /// The first attempt of a trial, or why the trial cannot be launched with its own values. Neither is set if `stop` said so, or if
    /// nothing is left to try.
    struct Proposal {
        std::optional<Attempt> attempt{};
        std::optional<Unlaunchable> unlaunchable{};
    };
    /// True if no further trial is worth beginning: the sampler has proposed everything, or each proposal that is drawn would fail as
    /// before (fails_again). If one would not, the trial that is begun next gets it. Call it before a trial is begun.
    [[nodiscard]] bool nothing_left() {
        const History history = books_.history();
        const History searched = books_.searched();
        const Asker asker = options_.asks_while_running() ? Asker::program : Asker::space;
        all_tried_ = proposes_nothing_more(policies_.sampler, books_, options_.fixed, asker);
        if (all_tried_ && asker == Asker::space) {  // the space may have changed since: a proposal that may repeat shows what it has now
            look_at_space(searched);
            all_tried_ = proposes_nothing_more(policies_.sampler, books_, options_.fixed, asker);
        }
        if (all_tried_) return true;
        if (exhausted_ && exhausted_at_ == books_.done()) return true;
        exhausted_.reset();
        const auto number = static_cast<std::int64_t>(history.trials.size());
        const bool is_known = ahead_ && ahead_->number == number;
        const bool may_fail_again = options_.breaker > 0 && may_be_exhausted(history.trials);
        if (options_.asks_while_running() || is_known || waits(history) || !(may_fail_again || is_exhaustive(policies_.sampler)))
            return false;
        try {
            for (int round = 0; round < options_.max_rejections; ++round) {
                ParamSet params = draw(space_, TrialContext{number, searched}, options_.fixed, round, round);
                if (may_fail_again && (exhausted_ = fails_again(params, history.trials, options_.breaker_counts))) continue;
                ahead_ = Ahead{number, round, std::move(params)};
                return false;
            }
        } catch (const SpaceExhausted&) {
            return all_tried_ = true;
        } catch (const Error&) {  // the trial meets it, and tells it
            exhausted_.reset();
        }
        exhausted_at_ = books_.done();
        return exhausted_.has_value();
    }
    /// Why nothing is left to try, as far as it is known.
    [[nodiscard]] const std::optional<std::string>& exhausted() const noexcept { return exhausted_; }
    /// True if nothing is left because the sampler has proposed everything.
    [[nodiscard]] bool all_tried() const noexcept { return all_tried_; }
    /// Suggests parameters for a trial until the guard accepts a proposal on `device`, or on a larger one. Refused proposals are recorded,
    /// and the sampler learns from them. Throws bad_value after max_rejections proposals, unless the trial has own values to blame. It is
    /// then unlaunchable. So is a trial for which a sampler proposes only what was refused before, as one of a grid does. A proposal that
    /// would fail as before (fails_again) is drawn anew.
    template <std::predicate Stop>
    [[nodiscard]] Proposal propose(std::int64_t number, const SessionDevice& device, const Stop& stop, int first_round = 0) {
        const auto fixed = books_.fixed_values(number, options_);
        const bool has_own_values = fixed.size() > options_.fixed.size();
        std::optional<Unlaunchable> refusal;  // the latest
        std::vector<ParamSet> refused;
        const std::optional<Ahead> ahead = std::exchange(ahead_, std::nullopt);
        const bool is_drawn = ahead && ahead->number == number && !has_own_values;
        int failing = 0, repeated = 0;  // proposals that would fail as before; in a row, those that were refused before
        for (int round = is_drawn ? ahead->round : first_round;; ++round) {
            const History history = books_.history();
            const History searched = books_.searched();
            const TrialContext context{.number = number,
                                       .history = searched,
                                       .asker = options_.asks_while_running() ? Asker::expectation : Asker::space,
                                       .is_enqueued = has_own_values};
            ParamSet params;
            ParamSet drawn;  // before the space failed
            const Space space = [&](SpaceTrial& trial) {
                try {
                    space_(trial);
                } catch (const Error&) {
                    drawn = trial.params();
                    throw;
                }
            };
            try {
                if (is_drawn && round == ahead->round) params = ahead->params;
                else params = draw(space, context, fixed, round, failing);
            } catch (const SpaceExhausted&) {
                all_tried_ = true;
                return {};
            } catch (const FixedValueError& error) {
                if (!has_own_values) throw;
                return {.unlaunchable = Unlaunchable{Failure{.message = std::string{cannot_run_as_enqueued} + error.what()}}};
            } catch (const Error& error) {
                if (error.code() != Errc::script) throw;
                throw Error{Errc::script, error.what() + in_trial(number, drawn)};
            }
            repeated = std::ranges::find(refused, params) != refused.end() ? repeated + 1 : 0;
            if (repeated >= (has_own_values ? 1 : repeated_proposals)) {  // no other proposal is left to draw
                books_.set_params(number, std::move(params));
                return {.unlaunchable = std::move(refusal)};
            }
            if (const auto again =
                    has_own_values || options_.breaker <= 0 ? std::nullopt : fails_again(params, history.trials, options_.breaker_counts)) {
                ++failing;
                if (round + 1 < options_.max_rejections) continue;
                exhausted_ = again;
                exhausted_at_ = books_.done();
                return {};
            }
            ExecutionPlan plan = options_.plan;
            copy_effective_batch(params, options_, plan);
            const SessionDevice* on = &device;
            Admission admission = admission_from(on, params, plan, options_.target_share, stop);
            if (stop()) return {};  // a stop may have cut the answer short
            if (!cannot_run_.empty()) {
                books_.set_params(number, std::move(params));
                return {.unlaunchable = Unlaunchable{Failure{.message = "cannot run on " + plan.device + ": " + cannot_run_}}};
            }
            if (admission.answer != Admission::Answer::infeasible) {
                books_.set_params(number, std::move(params));
                Attempt attempt;
                attempt.plan = std::move(admission.plan);
                attempt.estimate = std::move(admission.estimate);
                mark_seen(attempt);
                return {.attempt = std::move(attempt)};
            }
            refusal = Unlaunchable{{.kind = FailureKind::predicted_oom, .message = admission.reason}, admission.violation};
            if (repeated == 0) refused.push_back(params);
            books_.reject(rejection(params, admission, *on));
            if (round + 1 >= options_.max_rejections) {
                if (has_own_values) return {.unlaunchable = std::move(refusal)};
                throw Error{Errc::bad_value, "no configuration fits: " + std::to_string(round + 1) +
                                                 " proposals in a row were refused; the last: " + admission.reason +
                                                 leaks_text(history.trials) + "; give the device more memory or widen the space"};
            }
        }
    }

    /// True if the guard may say more now about the first attempt of a trial, which has waited while others ended. A trial that runs a lost
    /// one again keeps what that one had.
    [[nodiscard]] bool knows_more(const WaitingAttempt& waiting) const {
        const auto& estimate = waiting.attempt.estimate;
        if (Replays::is_replay(waiting.number) || !estimate || !relearns(policies_.guard, *estimate)) return false;
        const Trial& trial = books_.trial(waiting.number);
        return trial.attempts.empty() && retry_history(trial).empty();
    }
    /// Asks the guard again about such an attempt. If it is refused now, on each device, that is recorded, and the trial has no parameters
    /// any more.
    template <std::predicate Stop>
    [[nodiscard]] bool still_fits(WaitingAttempt& waiting, const Stop& stop) {
        Attempt& attempt = waiting.attempt;
        const SessionDevice* on = &devices_.of(attempt.plan.device);
        const ParamSet params = books_.trial(waiting.number).params;
        ExecutionPlan plan = options_.plan;
        copy_effective_batch(params, options_, plan);
        Admission admission = admission_from(on, params, plan, options_.target_share, stop);
        if (admission.answer == Admission::Answer::infeasible) {
            books_.reject(rejection(params, admission, *on));
            books_.set_params(waiting.number, {});
            return false;
        }
        attempt.plan = std::move(admission.plan);
        attempt.estimate = std::move(admission.estimate);
        mark_seen(attempt);
        return true;
    }

    /// Asks the guard about a retry on `device`, or about an attempt that goes on with a lost trial. Its plan may be shrunk further. If the
    /// guard would refuse it, it is launched as it is. It is not shrunk to leave memory for other attempts.
    void estimate(std::int64_t number, const SessionDevice& device, Attempt& attempt) {
        const ParamSet params = params_of(books_.trial(number), attempt);
        const SessionDevice* on = &device;
        Admission admission = admission_from(on, params, attempt.plan, 1, [] { return false; });
        if (admission.answer == Admission::Answer::infeasible) {
            attempt.plan.device = device.what.name;
            return;
        }
        // The cap of the failed attempt may be an earlier guard's.
        if (admission.estimate.cap_bytes) admission.plan.cap_bytes = admission.estimate.cap_bytes;
        attempt.plan = std::move(admission.plan);
        attempt.estimate = std::move(admission.estimate);
        mark_seen(attempt);
    }

private:
    [[nodiscard]] static Rejection rejection(const ParamSet& params, const Admission& admission, const SessionDevice& on) {
        return {.params = params,
                .estimate = admission.estimate,
                .violation = admission.violation,
                .reason = admission.reason,
                .plan = admission.plan,
                .capacity_bytes = on.what.executor.capacity_bytes()};
    }
    static constexpr int repeated_proposals = 100;  ///< in a row, each of which was refused before

    /// Says in which trial a space failed, and what it had drawn.
    [[nodiscard]] static std::string in_trial(std::int64_t number, const ParamSet& drawn) {
        std::string values;
        for (const Param& param : drawn) values += (values.empty() ? ", with " : ", ") + param.name + " = " + display_text(param.value());
        return " in trial " + std::to_string(number) + (values.empty() ? ", before a parameter was drawn" : values);
    }
    /// Says how many attempts left memory behind. Predictions may be too high because of that. Empty if none did.
    [[nodiscard]] static std::string leaks_text(std::span<const Trial> trials) {
        std::size_t leaks = 0;
        for (const Trial& trial : trials)
            leaks += static_cast<std::size_t>(
                std::ranges::count_if(trial.attempts, [](const Attempt& attempt) { return leaked_bytes(attempt).has_value(); }));
        return leaks == 0 ? ""
                          : "; the trainer kept memory after " + std::to_string(leaks) + (leaks == 1 ? " attempt" : " attempts") +
                                ", which it should release";
    }
    /// Keeps the memory reading of the device that the guard saw when it accepted the attempt.
    void mark_seen(Attempt& attempt) {
        if (seen_) attempt.memory = {MemoryMark{"admission", 0, std::nullopt, *seen_}};
    }
    /// Asks the guard about `plan` on a device, and on larger ones as long as it refuses. `on` is the last of them.
    template <std::predicate Stop>
    [[nodiscard]] Admission admission_from(const SessionDevice*& on, const ParamSet& params, ExecutionPlan& plan, double target_share,
                                           const Stop& stop) {
        for (;;) {
            Admission admission = admission_on(*on, params, plan, target_share);
            const SessionDevice* const larger = devices_.next_larger(*on);
            if (admission.answer != Admission::Answer::infeasible || !larger || !cannot_run_.empty() || stop()) return admission;
            on = larger;
        }
    }
    /// Asks the guard about `plan` on a device. The guard may only change what the trainer's levers allow.
    [[nodiscard]] Admission admission_on(const SessionDevice& device, const ParamSet& params, ExecutionPlan& plan, double target_share) {
        Executor& executor = device.what.executor;
        plan.device = device.what.name;
        ExecutionPlan checkpointing = plan;
        checkpointing.activation_checkpointing = true;
        const bool may_checkpoint = !options_.refuses_plan || !options_.refuses_plan(plan, checkpointing);
        if (!std::exchange(has_read_other_studies_, true) && carries(policies_.guard)) books_.read_other_studies(devices_.product_names());
        History history = books_.history();
        cannot_run_.clear();
        return admit(policies_.guard,
                     AdmissionQuery{params, plan, executor.capacity_bytes(), history, options_.least_micro_batch, may_checkpoint,
                                    executor.runs_on(), target_share},
                     [&](const ExecutionPlan& tried) {
                         MemoryEvidence evidence = executor.evidence(params, tried, evidence_wanted(executor, params, tried, history));
                         cannot_run_ = evidence.cannot_run ? evidence.remark : std::string{};
                         if (looks(policies_.guard)) evidence.device = seen_ = executor.device_now();
                         books_.heartbeat();          // an answer may take long
                         history = books_.history();  // the heartbeat may have changed it, and guards learn from it
                         return evidence;
                     });
    }

    /// The evidence that the guard asks for. Tells the observer if the guard no longer asks a source that was wrong too often.
    [[nodiscard]] Evidence evidence_wanted(const Executor& executor, const ParamSet& params, const ExecutionPlan& plan,
                                           const History& history) {
        const MemoryQuery query{
            .params = params, .plan = plan, .capacity_bytes = executor.capacity_bytes(), .history = history, .runs_on = executor.runs_on()};
        const Evidence wanted = evidence_for(policies_.guard, query);
        if (wanted != policies_.guard.evidence())
            books_.asks_less(policies_.guard.evidence(), wanted, guard::model_family(query.runs_on.trainer, params, plan));
        return wanted;
    }

    void look_at_space(const History& history) {
        try {
            const TrialContext context{.number = static_cast<std::int64_t>(history.trials.size()), .history = history, .is_enqueued = true};
            (void)suggest_params(policies_.sampler, space_, context, Seed{options_.seed}, options_.fixed);
        } catch (const Error&) {  // a trial meets it, and tells it
        }
    }

    Policies<S, P, G, R>& policies_;
    Bookkeeping& books_;
    const Space& space_;
    Devices& devices_;
    const TuneOptions& options_;
    /// Draws parameters for a trial. A sampler may go on to propose what fails, so after some such proposals any others are drawn.
    [[nodiscard]] ParamSet draw(const Space& space, const TrialContext& context, const FixedValues& fixed, int round, int failing) {
        constexpr int most_failing = 20;
        if (failing < most_failing) return suggest_params(policies_.sampler, space, context, Seed{options_.seed}, fixed, round);
        return suggest_params(random_, space, context, Seed{options_.seed}, fixed, round);
    }

    sampler::Random random_;
    /// A proposal that was drawn before its trial was begun.
    struct Ahead {
        std::int64_t number = 0;
        int round = 0;
        ParamSet params;
    };
    std::optional<Ahead> ahead_;
    std::optional<std::string> exhausted_;  ///< why nothing was left to try when `exhausted_at_` trials were done
    std::int64_t exhausted_at_ = 0;
    bool all_tried_ = false;
    bool has_read_other_studies_ = false;
    std::optional<MemoryReading> seen_;  ///< of the device, from the latest evidence
    std::string cannot_run_;             ///< MemoryEvidence::cannot_run of the latest question: why; empty: it can
};

}  // namespace hpo::tuner
