// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/base/time.hpp"
#include "hpo/core/attributes.hpp"
#include "hpo/core/distribution.hpp"
#include "hpo/core/trial.hpp"
#include "hpo/failure/classify.hpp"
#include "hpo/sampler/suggest.hpp"
#include "hpo/space/space_trial.hpp"
#include "hpo/store/retries.hpp"
#include "hpo/tuner/bookkeeping.hpp"
#include "hpo/tuner/enqueued.hpp"
#include "hpo/tuner/in_process.hpp"
#include "hpo/tuner/lost_trials.hpp"
#include "hpo/tuner/study_event.hpp"
#include "hpo/tuner/verdicts.hpp"

namespace hpo::tuner {

/// The parameters of a trial whose names are known before it runs.
using NamedDistributions = std::vector<std::pair<std::string, Distribution>>;

/// How a trial ended, as the caller tells it.
struct Told {
    TrialState state = TrialState::complete;  ///< complete, pruned or fail
    std::vector<double> values{};             ///< one for each objective if complete, else none
    Constraints constraints{};
    Attributes attributes{};  ///< for the trial's user attributes
    std::string error{};      ///< of a failed trial: its message, which is classified
};

/// Why trials end that were not told.
enum class LeftOpen {
    stopped,      ///< the study is closed in order
    caller_gone,  ///< the program that ran them is gone; if that happens again and again, a configuration is not run any more
};

/// The trials of a study that were begun and not told yet. AskTell adds the policies.
/// Thread safety: none.
class OpenTrials {
public:
    /// Opens the study, or makes it. `options.run` names the process; its trials are lost if it dies. Of `options` only `directions`,
    /// `seed`, `open`, `fixed`, `max_losses` and `run` count.
    OpenTrials(Store& store, const std::string& study, TuneOptions options, TuneObserver& observer)
        : options_{std::move(options)}, observer_{observer}, books_{store, study, options_, observer} {}

    [[nodiscard]] const Study& study() const noexcept { return books_.study(); }
    /// All trials of the study by number. Those of other processes are as of the latest call that began or enqueued a trial, or refreshed.
    [[nodiscard]] std::span<const Trial> trials() const noexcept { return books_.history().trials; }
    void refresh() { books_.read_others(); }
    /// The numbers of the open trials.
    [[nodiscard]] std::vector<std::int64_t> numbers() const;

    /// Adds a trial with these values, which a later `ask` begins. Returns its number. Throws bad_value for a name that no parameter has.
    std::int64_t enqueue(const FixedValues& values);
    /// Ends an open trial. Returns what a person should know of its enqueued values. Throws bad_value for what does not go together, and
    /// the trial stays open.
    std::vector<std::string> tell(std::int64_t number, Told told);
    /// Ends all open trials as lost, so that a later `ask` begins them again.
    void close(LeftOpen why);
    /// Says that this process is alive. Call it every few seconds, also while nothing is asked.
    void heartbeat() { books_.heartbeat(); }

protected:
    struct Open {
        FixedValues fixed;                ///< the values that it must have
        ParamSet params;                  ///< that were suggested
        bool is_again = false;            ///< runs with the parameters of a lost trial
        std::optional<ParamSet> joint{};  ///< the sampler's draw for all parameters, once one was suggested alone
        std::string prune_reason;
        Stopwatch since_begin{};
    };

    [[nodiscard]] Open& open(std::int64_t number);
    /// Begins a lost trial again, or an enqueued or a new trial.
    std::int64_t begin();
    /// Lets a trial draw its own values in place of those of the lost trial.
    void draw_anew(std::int64_t number, Open& trial, const std::string& why);
    /// Ends a trial whose enqueued values the space does not have. Returns the error to throw.
    [[nodiscard]] FixedValueError refuse_enqueued(std::int64_t number, const std::string& why);
    [[nodiscard]] std::vector<std::string> unused_values(std::int64_t number) { return enqueued_.not_used(books_.trial(number)); }

    TuneOptions options_;
    TuneObserver& observer_;
    Bookkeeping books_;
    std::map<std::int64_t, Open> open_;

private:
    void finish(std::int64_t number, AttemptOutcome outcome);

    EnqueuedValues enqueued_;
};

inline std::vector<std::int64_t> OpenTrials::numbers() const {
    std::vector<std::int64_t> all;
    for (const auto& [number, trial] : open_) all.push_back(number);
    return all;
}

inline std::int64_t OpenTrials::enqueue(const FixedValues& values) {
    for (const auto& [name, value] : values) require_parameter_name(name);
    return books_.enqueue(values);
}

inline OpenTrials::Open& OpenTrials::open(std::int64_t number) {
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

inline std::int64_t OpenTrials::begin() {
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

inline void OpenTrials::draw_anew(std::int64_t number, Open& trial, const std::string& why) {
    trial.is_again = false;
    const Trial lost = books_.trial(retry_history(books_.trial(number)).back());
    observer_.on(event::TrialLeftAlone{lost, "the space has changed: " + why});
    books_.set_params(number, trial.params);
    trial.fixed = books_.fixed_values(number, options_);
}

inline FixedValueError OpenTrials::refuse_enqueued(std::int64_t number, const std::string& why) {
    Failure failure;
    failure.kind = FailureKind::trainer_error;
    failure.message = why;
    AttemptOutcome outcome;
    outcome.failure = std::move(failure);
    books_.trial(number).state = TrialState::fail;
    finish(number, std::move(outcome));
    return FixedValueError{why + "; trial " + std::to_string(number) + " was enqueued with it and is FAIL now; ask again for the next one"};
}

inline std::vector<std::string> OpenTrials::tell(std::int64_t number, Told told) {
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

inline void OpenTrials::finish(std::int64_t number, AttemptOutcome outcome) {
    Trial& trial = books_.trial(number);
    Attempt& attempt = trial.attempts.back();
    keep_outcome(attempt, outcome);
    if (attempt.failure && attempt.outcome == OutcomeKind::failed) {
        explain(attempt, std::nullopt);
        settle_failed(trial, *attempt.failure, Recovery{.action = Recovery::Action::fail, .plan = attempt.plan}, std::nullopt);
    }
    add_source_attributes(trial);
    books_.end_attempt(number);
    books_.finish(number);
    open_.erase(number);
}

inline void OpenTrials::close(LeftOpen why) {
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
        mark_lost(trial);
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
