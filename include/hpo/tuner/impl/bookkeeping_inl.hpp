// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/base/inline.hpp"
#include "hpo/store/retries.hpp"
#include "hpo/store/sqlite/run_liveness.hpp"
#include "hpo/tuner/bookkeeping.hpp"
#include "hpo/tuner/finished_trial.hpp"
#include "hpo/tuner/prediction_miss.hpp"

namespace hpo::tuner {

/// Throws bad_value, before the study is made, for a number of trials that cannot be meant.
[[nodiscard]] HPO_INLINE const TuneOptions& checked(const TuneOptions& options) {
    const auto require = [](const char* name, std::int64_t value, std::int64_t least) {
        if (value < least) throw bad_value(std::string{"TuneOptions::"} + name, std::to_string(value), "at least " + std::to_string(least));
    };
    require("trials", options.trials, 0);
    require("own_trials", options.own_trials.value_or(0), 0);
    require("max_attempts", options.max_attempts, 1);
    return options;
}

HPO_INLINE Bookkeeping::Bookkeeping(Store& store, const std::string& name, const TuneOptions& options, TuneObserver& observer)
    : store_{store},
      observer_{observer},
      study_{store.open_study(name, checked(options).directions, options.open)},
      same_program_{options.same_program},
      constraints_after_end_{options.constraints_after_end},
      own_trials_{options.own_trials} {
    if (options.run) {
        store_.settle_lost_trials(study_.id, store::heartbeat_grace_seconds);
        run_ = store_.begin_run(study_.id, *options.run);
    }
    store_.refresh(study_.id, trials_);
    recount();
    for (const Trial& trial : trials_) {
        try {
            distributions_.admit(trial.params);
        } catch (const Error&) {  // another program mixed distributions; new trials are compared with the latest
        }
    }
    rejections_ = store_.rejections(study_.id);
    observer_.study_opened(study_, trials_);
}

HPO_INLINE Bookkeeping::~Bookkeeping() {
    try {
        if (run_) store_.end_run(*run_);
    } catch (const Error&) {  // all its trials are finished; the run counts as gone once its process is
    }
}

HPO_INLINE std::optional<std::int64_t> Bookkeeping::begin_trial(const Wanted& wanted) {
    if (!may_begin(wanted)) return std::nullopt;
    auto begun = store_.begin_trial_within(study_.id, run_id(), quota(wanted));
    if (!begun) since_refusal_.emplace();
    return take_in(std::move(begun));
}

HPO_INLINE std::optional<std::int64_t> Bookkeeping::begin_retry(const Wanted& wanted, const Trial& lost,
                                                                std::optional<std::int64_t> last_kept) {
    if (!may_begin(wanted)) return std::nullopt;
    auto begun = store_.begin_retry_within(study_.id, run_id(), quota(wanted), lost, last_kept);
    if (begun) std::erase(left_behind_, lost.number);
    else since_refusal_.emplace();
    return take_in(std::move(begun));
}

HPO_INLINE std::vector<std::int64_t> Bookkeeping::left_behind() {
    read_others();
    if (others_run_) settle_lost();  // the processes that run them may be gone
    return left_behind_;
}

HPO_INLINE void Bookkeeping::settle_lost() {
    if (run_ && store_.settle_lost_trials(study_.id, store::heartbeat_grace_seconds) > 0) read_others();
}

HPO_INLINE std::int64_t Bookkeeping::enqueue(const std::vector<std::pair<std::string, Value>>& fixed) {
    const std::int64_t number = store_.enqueue(study_.id, fixed).number;
    read_others();
    return number;
}

HPO_INLINE void Bookkeeping::set_params(std::int64_t number, ParamSet params) {
    distributions_.share(params);
    distributions_.admit(params);
    trial(number).params = std::move(params);
    store_.set_params(trial(number));
}

HPO_INLINE void Bookkeeping::begin_attempt(std::int64_t number, Attempt attempt) {
    Trial& current = trial(number);
    attempt.index = static_cast<int>(current.attempts.size());
    attempt.started = now();
    current.attempts.push_back(std::move(attempt));
    store_.begin_attempt(current, current.attempts.back());
    observer_.attempt_started(current, current.attempts.back());
}

HPO_INLINE void Bookkeeping::end_attempt(std::int64_t number) {
    Trial& current = trial(number);
    store_.end_attempt(current, current.attempts.back());
    observer_.attempt_ended(current, current.attempts.back());
    if (told_misprediction_) return;
    if (const auto how = prediction_miss(current.attempts.back())) {
        told_misprediction_ = true;
        observer_.mispredicted(current, *how);
    }
}

HPO_INLINE void Bookkeeping::asks_less(Evidence before, Evidence now, const std::string& family) {
    const auto tell = [&](const std::string& source) {
        const std::string what = source + " " + family;
        if (std::find(given_up_.begin(), given_up_.end(), what) != given_up_.end()) return;
        given_up_.push_back(what);
        observer_.source_given_up(source, family);
    };
    if (before == Evidence::virtual_card) tell("virtual_card");
    if ((before == Evidence::virtual_card || before == Evidence::dry_run) && now != Evidence::dry_run) tell("dry_run");
    if (now == Evidence::shape) tell("probe");
}

HPO_INLINE void Bookkeeping::note_once(std::int64_t number, const std::string& what) {
    if (what.empty() || std::find(noted_.begin(), noted_.end(), what) != noted_.end()) return;
    noted_.push_back(what);
    observer_.retry_noted(trial(number), what);
}

HPO_INLINE void Bookkeeping::restart_reports(std::int64_t number, std::optional<std::int64_t> last_kept) {
    Trial& current = trial(number);
    current.attempts.back().reports = take_superseded(current.intermediate, last_kept);
    store_.restart_reports(current, current.attempts.back(), last_kept);
}

HPO_INLINE void Bookkeeping::report(std::int64_t number, const Report& report) {
    Trial& current = trial(number);
    current.intermediate[report.step] = report.value;
    store_.report(current, report);
    observer_.reported(current, report);
}

HPO_INLINE std::vector<std::pair<std::string, Value>> Bookkeeping::prescribed_values(std::int64_t number, const TuneOptions& options) {
    auto fixed = options.fixed;
    const Trial& current = trial(number);
    fixed.insert(fixed.end(), current.fixed.begin(), current.fixed.end());
    return fixed;
}

HPO_INLINE std::vector<std::pair<std::string, Value>> Bookkeeping::fixed_values(std::int64_t number, const TuneOptions& options) {
    auto fixed = prescribed_values(number, options);
    for (const Param& param : trial(number).params) fixed.emplace_back(param.name, param.value());
    return fixed;
}

HPO_INLINE void Bookkeeping::memory_mark(std::int64_t number, MemoryMark mark) {
    if (mark.name == "end") mark.reading.neighbours.clear();  // they matter to failures, and not afterwards
    Trial& current = trial(number);
    Attempt& attempt = current.attempts.back();
    attempt.memory.push_back(mark);
    store_.memory_mark(current, attempt.index, mark);
    observer_.memory_marked(current, mark);
}

HPO_INLINE void Bookkeeping::finish(std::int64_t number) {
    Trial& current = trial(number);
    current.completed = now();
    store_.finish(current);
    std::erase(own_, number);
    const int counted = counts_as_done(current) ? 1 : 0;
    done_ += counted;
    own_done_ += counted;
    if (constraints_after_end_) {
        for (const auto& [name, value] : constraints_after_end_(current)) current.constraints[name] = value;
    }
    observer_.trial_finished(current);
    drop_details(current);
}

HPO_INLINE void Bookkeeping::reject(Rejection rejection) {
    rejection.at = now();
    store_.reject(study_.id, rejection);
    rejections_.push_back(std::move(rejection));
    observer_.rejected(rejections_.back());
}

HPO_INLINE void Bookkeeping::heartbeat() {
    if (!run_ || since_heartbeat_.seconds() < heartbeat_interval_seconds) return;
    since_heartbeat_ = {};
    store_.heartbeat(*run_);
    settle_lost();
}

HPO_INLINE void Bookkeeping::checkpointed(std::int64_t number, std::int64_t step) {
    Trial& current = trial(number);
    current.attempts.back().checkpoint_step = step;
    store_.begin_attempt(current, current.attempts.back());
}

HPO_INLINE Quota Bookkeeping::quota(const Wanted& wanted) const {
    return {.trials = own_trials_ ? endless_trials : wanted.trials,
            .own_running = wanted.own_running,
            .grace_seconds = store::heartbeat_grace_seconds};
}

HPO_INLINE std::optional<std::int64_t> Bookkeeping::take_in(std::optional<Trial> begun) {
    std::optional<std::int64_t> number;
    if (begun) {
        number = begun->number;
        own_.push_back(*number);
        const auto index = static_cast<std::size_t>(*number);
        if (index == trials_.size()) trials_.push_back(std::move(*begun));
        else if (index < trials_.size()) trials_[index] = std::move(*begun);  // an enqueued one
    }
    read_others();
    return number;
}

HPO_INLINE void Bookkeeping::read_others() {
    if (!store_.refresh(study_.id, trials_)) return;
    recount();
    observer_.others_changed(trials_);
}

HPO_INLINE void Bookkeeping::recount() {
    for (Trial& trial : trials_) {
        if (is_finished(trial.state)) drop_details(trial);
    }
    done_ = std::count_if(trials_.begin(), trials_.end(), counts_as_done);
    left_behind_ = trials_left_behind(trials_);
    others_run_ = std::any_of(trials_.begin(), trials_.end(), [this](const Trial& each) {
        return each.state == TrialState::running && std::find(own_.begin(), own_.end(), each.number) == own_.end();
    });
}

}  // namespace hpo::tuner
