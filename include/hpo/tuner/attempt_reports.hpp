// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "hpo/base/cases.hpp"
#include "hpo/failure/source_attributes.hpp"
#include "hpo/pruner/concept.hpp"
#include "hpo/trainer/executor.hpp"
#include "hpo/tuner/asking/live_params.hpp"
#include "hpo/tuner/attempt_admission.hpp"
#include "hpo/tuner/bookkeeping.hpp"
#include "hpo/tuner/devices/devices.hpp"
#include "hpo/tuner/devices/reservation.hpp"
#include "hpo/tuner/replays.hpp"

namespace hpo::tuner {

/// Takes what running attempts tell of themselves, and answers what they ask. It writes it to the books, asks sampler and pruner, and gives
/// reserved memory back early.
template <Sampler S, Pruner P>
class AttemptReports : public ExecutorEvents {
public:
    AttemptReports(S& sampler, P& pruner, Bookkeeping& books, Devices& devices, const TuneOptions& options)
        : pruner_{pruner}, books_{books}, devices_{devices}, options_{options}, live_params_{sampler, books, options} {}

    EventAnswer on(std::int64_t number, AttemptEvent event) override {
        return std::visit(Cases{[&](const AttemptStarted& started) { return begin(number, started), EventAnswer{}; },
                                [&](const Report& report) { return EventAnswer{.goes_on = judge(number, report)}; },
                                [&](const Question& question) { return answer(number, question); },
                                [&](const MemoryMark& mark) { return keep(number, mark), EventAnswer{}; },
                                [&](const Checkpoint& checkpoint) { return keep(number, checkpoint), EventAnswer{}; },
                                [&](AttemptOutcome& outcome) { return end(number, std::move(outcome)), EventAnswer{}; },
                                // The executor sees to these.
                                [](const Recall&) { return EventAnswer{}; }, [](const Kept&) { return EventAnswer{}; },
                                [](const Alive&) { return EventAnswer{}; }, [](const Phase&) { return EventAnswer{}; },
                                [](const LogLine&) { return EventAnswer{}; }},
                          event);
    }

protected:
    virtual void end(std::int64_t number, AttemptOutcome outcome) = 0;

    /// Call it after an error: attempts are told to stop, and nothing else that they tell is kept.
    void hears_only_ends() { only_ends_ = true; }
    /// Why the trial was stopped. Empty if neither the pruner nor the trial itself did that.
    [[nodiscard]] std::string take_prune_reason(std::int64_t number, const AttemptOutcome& outcome) {
        std::string reason = std::exchange(prune_reasons_[number], {});
        if (options_.asks_while_running() && !outcome.prunes_itself) return {};
        const bool by_own_rule = outcome.prunes_itself && (reason.empty() || !outcome.heard_verdict);
        if (!by_own_rule) return reason;
        return std::string{pruned_by_program} + (outcome.prune_reason.empty() ? "" : ": " + outcome.prune_reason);
    }
    /// Call it once a trial has ended. If it asked for its parameters, it keeps only those.
    void settle(std::int64_t number) {
        live_params_.settle(number);
        forget(number);
    }
    void forget(std::int64_t number) {
        prune_reasons_.erase(number);
        live_params_.forget(number);
    }

private:
    void begin(std::int64_t number, const AttemptStarted& started) {
        if (counts(number)) books_.trial(number).attempts.back().worker_pid = started.worker_pid;
    }
    /// Returns false if the trial should stop.
    bool judge(std::int64_t number, const Report& report) {
        if (!counts(number)) return !only_ends_;
        reservations_of(number).reported(number, report.step);
        const Verdict verdict = books_.report_and_judge(number, report, pruner_);
        // A program that prunes itself may go on after a verdict, and hear another one.
        if (verdict.prunes() || options_.asks_while_running()) prune_reasons_[number] = verdict.reason;
        return !verdict.prunes();
    }

    EventAnswer answer(std::int64_t number, const Question& question) {
        if (!counts(number) || !options_.asks_while_running()) return knows_no_answer(question);
        EventAnswer answer{.suggestion = live_params_.suggest(number, question.name, question.distribution)};
        Trial& trial = books_.trial(number);
        Attempt& attempt = trial.attempts.back();
        if (question.name == options_.effective_batch_parameter && !attempt.plan.effective_batch)
            copy_effective_batch(params_of(trial, attempt), options_, attempt.plan);  // a retry may run it in smaller pieces
        return answer;
    }
    void keep(std::int64_t number, const MemoryMark& mark) {
        if (!counts(number)) return;
        books_.memory_mark(number, mark);
        if (mark.name == settled_mark && mark.reading.limit)
            reservations_of(number).shrink(number, *mark.reading.limit + outside_allocator(books_.trial(number).attempts.back()));
    }

    void keep(std::int64_t number, const Checkpoint& checkpoint) {
        if (counts(number)) books_.checkpointed(number, checkpoint.step);
    }
    [[nodiscard]] bool counts(std::int64_t number) const { return !only_ends_ && !Replays::is_replay(number); }
    [[nodiscard]] AttemptReservations& reservations_of(std::int64_t number) {
        return devices_.of(books_.trial(number).attempts.back().plan.device).reservations;
    }

    P& pruner_;
    Bookkeeping& books_;
    Devices& devices_;
    const TuneOptions& options_;
    LiveParams<S> live_params_;
    std::map<std::int64_t, std::string> prune_reasons_;
    bool only_ends_ = false;
};

}  // namespace hpo::tuner
