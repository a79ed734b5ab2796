// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <exception>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/base/inline.hpp"
#include "hpo/failure/classify.hpp"
#include "hpo/space/space_trial.hpp"
#include "hpo/store/retries.hpp"
#include "hpo/tuner/in_process.hpp"
#include "hpo/tuner/lost_trials.hpp"
#include "hpo/tuner/open_trials.hpp"
#include "hpo/tuner/verdicts.hpp"

namespace hpo::tuner {

HPO_INLINE std::vector<std::int64_t> OpenTrials::numbers() const {
    std::vector<std::int64_t> all;
    for (const auto& [number, trial] : open_) all.push_back(number);
    return all;
}

HPO_INLINE std::int64_t OpenTrials::enqueue(const FixedValues& values) {
    for (const auto& [name, value] : values) require_parameter_name(name);
    return books_.enqueue(values);
}

HPO_INLINE OpenTrials::Open& OpenTrials::open(std::int64_t number) {
    const auto found = open_.find(number);
    if (found != open_.end()) return found->second;
    const std::span<const Trial> all = trials();
    const std::string got = "trial " + std::to_string(number);
    if (number < 0 || number >= std::ssize(all)) {
        throw bad_value("trial", std::to_string(number), "a trial that 'ask' began; the study has " + std::to_string(all.size()));
    }
    const TrialState state = all[static_cast<std::size_t>(number)].state;
    if (is_finished(state)) throw bad_value(got, "a trial that is " + std::string{to_text(state)} + " already", "one that is not told yet");
    throw bad_value(got, state == TrialState::waiting ? "a trial that waits" : "a trial of another process", "one that 'ask' began here");
}

HPO_INLINE std::int64_t OpenTrials::begin() {
    const Bookkeeping::Wanted wanted{.trials = std::numeric_limits<std::int64_t>::max() / 2, .own_running = std::ssize(open_)};
    std::optional<std::int64_t> number;
    while (!number) number = begin_live(wanted, books_, options_, observer_);  // nullopt: another process was first
    Open& begun = open_[*number];
    begun.is_again = !retry_history(books_.trial(*number)).empty();
    try {
        begun.fixed = books_.fixed_values(*number, options_);
        books_.begin_attempt(*number, Attempt{});
    } catch (...) {
        open_.erase(*number);
        give_up(*number, books_);
        throw;
    }
    return *number;
}

HPO_INLINE void OpenTrials::draw_anew(std::int64_t number, Open& trial, const std::string& why) {
    trial.is_again = false;
    const Trial lost = books_.trial(retry_history(books_.trial(number)).back());
    observer_.left_alone(lost, "the space has changed: " + why);
    books_.set_params(number, trial.params);
    trial.fixed = books_.fixed_values(number, options_);
}

HPO_INLINE FixedValueError OpenTrials::refuse_enqueued(std::int64_t number, const std::string& why) {
    Failure failure;
    failure.kind = FailureKind::trainer_error;
    failure.message = why;
    AttemptOutcome outcome;
    outcome.failure = std::move(failure);
    books_.trial(number).state = TrialState::fail;
    finish(number, std::move(outcome));
    return FixedValueError{why + "; trial " + std::to_string(number) + " was enqueued with it and is FAIL now; ask again for the next one"};
}

HPO_INLINE std::vector<std::string> OpenTrials::tell(std::int64_t number, Told told) {
    const Open& open_trial = open(number);
    const std::string place = "trial " + std::to_string(number);
    const std::size_t objectives = study().directions.size();
    if (!is_finished(told.state)) throw bad_value(place, "state " + std::string{to_text(told.state)}, "COMPLETE, PRUNED or FAIL");
    if (told.state == TrialState::complete) {
        if (told.values.size() != objectives) {
            throw bad_value(place, std::to_string(told.values.size()) + " values",
                            std::to_string(objectives) + ", one for each objective of a complete trial");
        }
        for (const double value : told.values) {
            if (std::isnan(value)) throw bad_value(place, "the value NaN", "a number; a trial without one failed");
        }
    } else if (!told.values.empty()) {
        throw bad_value(place, "values", "none: only a complete trial has them; a pruned one keeps its last report");
    }
    if (!told.error.empty() && told.state != TrialState::fail) throw bad_value(place, "an error", "none: only a failed trial has one");
    for (const auto& [name, value] : told.constraints) {
        if (std::isnan(value)) throw bad_value(place + ": constraint '" + name + "'", "NaN", "a number");
    }
    for (const auto& [name, json] : told.attributes) {
        if (is_reserved_attribute(name)) throw bad_value(place, "the attribute '" + name + "', which hpo keeps for itself", "another name");
        if (!books_.store().can_keep(json)) throw bad_value(place + ": attribute '" + name + "'", "no JSON", "JSON");
    }

    AttemptOutcome outcome;
    outcome.seconds = open_trial.since_begin.seconds();
    Trial& trial = books_.trial(number);
    const Trial before = trial;
    try {
        if (open_trial.params != trial.params) books_.set_params(number, open_trial.params);
        for (auto& [name, json] : told.attributes) trial.user_attributes[name] = std::move(json);
        trial.constraints = std::move(told.constraints);
        if (told.state == TrialState::complete) {
            outcome.kind = OutcomeKind::complete;
            (void)settle_complete(trial, std::move(told.values), objectives);
        } else if (told.state == TrialState::pruned) {
            outcome.kind = OutcomeKind::stopped;
            settle_pruned(trial, open_trial.prune_reason);
        } else {
            trial.state = TrialState::fail;
            outcome.failure = classify_text({.type = {}, .message = told.error});
        }
        auto notes = unused_values(number);
        finish(number, std::move(outcome));
        return notes;
    } catch (...) {
        books_.trial(number) = before;  // it is still open
        throw;
    }
}

HPO_INLINE void OpenTrials::finish(std::int64_t number, AttemptOutcome outcome) {
    Trial& trial = books_.trial(number);
    Attempt& attempt = trial.attempts.back();
    keep_outcome(attempt, outcome);
    if (attempt.failure && attempt.outcome == OutcomeKind::failed) {
        explain(attempt, std::nullopt);
        settle_failed(trial, *attempt.failure, Recovery{.action = Recovery::Action::fail, .plan = attempt.plan}, std::nullopt);
    }
    books_.end_attempt(number);
    add_source_attributes(trial);
    books_.finish(number);
    open_.erase(number);
}

HPO_INLINE void OpenTrials::close(LeftOpen why) {
    std::exception_ptr first;
    while (!open_.empty()) {
        const std::int64_t number = open_.begin()->first;
        Trial& trial = books_.trial(number);
        AttemptOutcome outcome;
        outcome.kind = OutcomeKind::interrupted;
        outcome.seconds = open_.begin()->second.since_begin.seconds();
        if (why == LeftOpen::caller_gone) {
            Failure failure;
            failure.kind = FailureKind::lost_worker;
            failure.message = "the program that ran the trial is gone";
            outcome.failure = std::move(failure);
        }
        trial.state = TrialState::fail;
        trial.user_attributes[lost_attribute] = std::string{lost_json};
        try {
            finish(number, std::move(outcome));
        } catch (const Error&) {
            if (!first) first = std::current_exception();
            open_.erase(number);
        }
    }
    if (first) std::rethrow_exception(first);
}

}  // namespace hpo::tuner
