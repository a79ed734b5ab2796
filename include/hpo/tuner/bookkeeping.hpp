// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "hpo/core/history.hpp"
#include "hpo/core/profile.hpp"
#include "hpo/pruner/concept.hpp"
#include "hpo/space/known_distributions.hpp"
#include "hpo/store/retries.hpp"
#include "hpo/store/run_liveness.hpp"
#include "hpo/store/store.hpp"
#include "hpo/tuner/options.hpp"
#include "hpo/tuner/prediction_miss.hpp"

namespace hpo::tuner {

/// A study's trials in memory and in its store, kept equal: every change goes through here, to the store first.
/// Trials are addressed by number, which is their index.
class Bookkeeping {
public:
    Bookkeeping(Store& store, const std::string& name, const TuneOptions& options, TuneObserver& observer)
        : store_{store}, observer_{observer}, study_{store.open_study(name, options.directions, options.open)} {
        if (options.run) {
            store_.settle_lost_trials(study_.id, store::heartbeat_grace_seconds);
            run_ = store_.begin_run(study_.id, *options.run);
        }
        store_.refresh(study_.id, trials_);
        recount();
        for (const Trial& trial : trials_) {
            try {
                distributions_.admit(trial.params);
            } catch (const Error&) {  // another program mixed them; new trials are held against the latest
            }
        }
        rejections_ = store_.rejections(study_.id);
        observer_.study_opened(study_, trials_);
    }
    Bookkeeping(const Bookkeeping&) = delete;
    Bookkeeping& operator=(const Bookkeeping&) = delete;
    ~Bookkeeping() {
        try {
            if (run_) store_.end_run(*run_);
        } catch (const Error&) {  // the run is found dead by its process; its trials are all finished
        }
    }

    [[nodiscard]] const Store& store() const noexcept { return store_; }
    [[nodiscard]] const Study& study() const noexcept { return study_; }
    [[nodiscard]] Trial& trial(std::int64_t number) { return trials_.at(static_cast<std::size_t>(number)); }
    [[nodiscard]] History history() const { return {study_.name, study_.directions, trials_, rejections_, elsewhere_}; }
    [[nodiscard]] TuneResult result(bool interrupted) const { return {study_, trials_, interrupted}; }

    /// Reads what other studies have measured on a device of this name, for History::elsewhere.
    void read_elsewhere(const std::string& device_name) { elsewhere_ = attempts_elsewhere(store_, study_.id, device_name); }
    /// The latest of them, from the oldest. Without a name of the device there are none.
    [[nodiscard]] static std::vector<Attempt> attempts_elsewhere(Store& store, std::int64_t study_id, const std::string& device_name) {
        return device_name.empty() ? std::vector<Attempt>{} : store.attempts_elsewhere(study_id, device_name, History::most_elsewhere);
    }

    /// Trials that count towards the asked number.
    [[nodiscard]] std::int64_t done() const noexcept { return done_; }

    /// A new or an enqueued trial, while fewer than `trials` are done or run, here (`own_running`) and in other processes. Returns nullopt
    /// when as many are done or run. Asked again at once, it does not look again.
    struct Wanted {
        std::int64_t trials = 0;
        std::int64_t own_running = 0;
    };
    [[nodiscard]] std::optional<std::int64_t> begin_trial(const Wanted& wanted) {
        if (!may_begin(wanted)) return std::nullopt;
        auto begun = store_.begin_trial_within(study_.id, run_id(), quota(wanted));
        if (!begun) since_refusal_.emplace();
        return take_in(std::move(begun));
    }
    /// False when a trial cannot be begun, as far as is known without asking the store.
    [[nodiscard]] bool may_begin(const Wanted& wanted) const {
        if (done_ + wanted.own_running >= wanted.trials) return false;
        return !since_refusal_ || since_refusal_->seconds() >= refusal_holds_seconds;
    }
    /// A trial that goes on with a lost one after `last_kept`, or runs it again. Returns nullopt when as many trials as wanted are done or
    /// run, or when another process was first.
    [[nodiscard]] std::optional<std::int64_t> begin_retry(const Wanted& wanted, const Trial& lost, std::optional<std::int64_t> last_kept) {
        if (!may_begin(wanted)) return std::nullopt;
        auto begun = store_.begin_retry_within(study_.id, run_id(), quota(wanted), lost, last_kept);
        if (begun) std::erase(left_behind_, lost.number);
        else since_refusal_.emplace();
        return take_in(std::move(begun));
    }
    /// Looks what other processes have left, and returns the lost trials that another can run again or go on with.
    [[nodiscard]] std::vector<std::int64_t> left_behind() {
        read_others();
        if (others_run_) settle_lost();  // whoever runs them may be gone
        return left_behind_;
    }
    /// Ends the trials of processes that are gone, so that none stands as running for ever.
    void settle_lost() {
        if (run_ && store_.settle_lost_trials(study_.id, store::heartbeat_grace_seconds) > 0) read_others();
    }
    /// Throws bad_value when a parameter's distribution does not go with the study's.
    void set_params(std::int64_t number, ParamSet params) {
        distributions_.admit(params);
        trial(number).params = std::move(params);
        store_.set_params(trial(number));
    }
    void begin_attempt(std::int64_t number, Attempt attempt) {
        Trial& current = trial(number);
        attempt.index = static_cast<int>(current.attempts.size());
        attempt.started = now();
        current.attempts.push_back(std::move(attempt));
        store_.begin_attempt(current, current.attempts.back());
        observer_.attempt_started(current, current.attempts.back());
    }
    /// What the latest attempt wrote; an empty text is not kept.
    void keep_log(std::int64_t number, const std::string& text) {
        const Trial& current = trial(number);
        if (!text.empty()) store_.keep_log(current, current.attempts.back().index, text);
    }
    void end_attempt(std::int64_t number) {
        Trial& current = trial(number);
        store_.end_attempt(current, current.attempts.back());
        observer_.attempt_ended(current, current.attempts.back());
        if (told_misprediction_) return;
        if (const auto how = prediction_miss(current.attempts.back())) {
            told_misprediction_ = true;
            observer_.mispredicted(current, *how);
        }
    }
    /// The guard asks for `now` of attempts of a model family, where it would ask for `before` if those had not been wrong of it.
    void asks_less(Evidence before, Evidence now, const std::string& family) {
        const auto tell = [&](const std::string& source) {
            const std::string what = source + " " + family;
            if (std::find(given_up_.begin(), given_up_.end(), what) != given_up_.end()) return;
            given_up_.push_back(what);
            observer_.source_given_up(source, family);
        };
        if (before == Evidence::dry_run) tell("dry_run");
        if (now == Evidence::shape) tell("probe");
    }
    /// Before another attempt: the trial's reports after `last_kept` become the last attempt's own.
    void restart_reports(std::int64_t number, std::optional<std::int64_t> last_kept) {
        Trial& current = trial(number);
        current.attempts.back().reports = take_superseded(current.intermediate, last_kept);
        store_.restart_reports(current, current.attempts.back(), last_kept);
    }
    void report(std::int64_t number, const Report& report) {
        Trial& current = trial(number);
        current.intermediate[report.step] = report.value;
        store_.report(current, report);
        observer_.reported(current, report);
    }
    /// Reports, then asks the pruner. Studies with several objectives are never pruned, nor is a trial at its last report: that it ran to
    /// its end is paid for.
    template <Pruner P>
    [[nodiscard]] Verdict report_and_judge(std::int64_t number, const Report& told, const P& pruner) {
        report(number, told);
        if (study_.directions.size() != 1 || told.is_last) return {};
        const History seen = history();
        return pruner.judge(Standing{trial(number), told.step, study_.directions[0], seen});
    }
    /// What the trial's parameters must be: the run's fixed values, then those that it was enqueued with, then those that it has from a
    /// lost trial which it runs again.
    [[nodiscard]] std::vector<std::pair<std::string, Value>> fixed_values(std::int64_t number, const TuneOptions& options) {
        auto fixed = options.fixed;
        const Trial& current = trial(number);
        fixed.insert(fixed.end(), current.fixed.begin(), current.fixed.end());
        for (const Param& param : current.params) fixed.emplace_back(param.name, param.value());
        return fixed;
    }
    void memory_mark(std::int64_t number, const MemoryMark& mark) {
        Trial& current = trial(number);
        Attempt& attempt = current.attempts.back();
        attempt.memory.push_back(mark);
        store_.memory_mark(current, attempt.index, mark);
        observer_.memory_marked(current, mark);
    }
    void finish(std::int64_t number) {
        Trial& current = trial(number);
        current.completed = now();
        store_.finish(current);
        std::erase(own_, number);
        done_ += counts_as_done(current) ? 1 : 0;
        observer_.trial_finished(current);
    }
    void reject(Rejection rejection) {
        rejection.at = now();
        store_.reject(study_.id, rejection);
        rejections_.push_back(std::move(rejection));
        observer_.rejected(rejections_.back());
    }
    /// Says that this process is alive, and looks whether others are, at most every few seconds.
    void heartbeat() {
        if (!run_ || since_heartbeat_.seconds() < heartbeat_interval_seconds) return;
        since_heartbeat_ = {};
        store_.heartbeat(*run_);
        settle_lost();
    }

    /// A checkpoint of the trial's attempt can be gone on from, also when this process is gone.
    void checkpointed(std::int64_t number, std::int64_t step) {
        Trial& current = trial(number);
        current.attempts.back().checkpoint_step = step;
        store_.begin_attempt(current, current.attempts.back());
    }

private:
    static constexpr double heartbeat_interval_seconds = 5;
    static constexpr double refusal_holds_seconds = 0.2;

    [[nodiscard]] std::optional<std::int64_t> run_id() const { return run_ ? std::optional{run_->id} : std::nullopt; }
    [[nodiscard]] static Quota quota(const Wanted& wanted) {
        return {.trials = wanted.trials, .own_running = wanted.own_running, .grace_seconds = store::heartbeat_grace_seconds};
    }
    std::optional<std::int64_t> take_in(std::optional<Trial> begun) {
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
    void read_others() {
        if (!store_.refresh(study_.id, trials_)) return;
        recount();
        observer_.others_changed(trials_);
    }
    void recount() {
        done_ = std::count_if(trials_.begin(), trials_.end(), counts_as_done);
        left_behind_ = trials_left_behind(trials_);
        others_run_ = std::any_of(trials_.begin(), trials_.end(), [this](const Trial& each) {
            return each.state == TrialState::running && std::find(own_.begin(), own_.end(), each.number) == own_.end();
        });
    }

    Store& store_;
    TuneObserver& observer_;
    Study study_;
    std::vector<Trial> trials_;
    std::vector<Rejection> rejections_;
    std::vector<Attempt> elsewhere_;
    KnownDistributions distributions_;
    std::vector<std::int64_t> own_;          ///< begun here and not finished
    std::vector<std::int64_t> left_behind_;  ///< trials_left_behind, as of the latest reading
    bool others_run_ = false;                ///< trials that were not begun here, as of the latest reading
    std::int64_t done_ = 0;
    bool told_misprediction_ = false;
    std::vector<std::string> given_up_;  ///< sources and families that the observer was told of
    std::optional<Run> run_;
    Stopwatch since_heartbeat_;
    std::optional<Stopwatch> since_refusal_;  ///< when there was last no trial to begin
};

}  // namespace hpo::tuner
