// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hpo/base/error.hpp"
#include "hpo/core/history.hpp"
#include "hpo/core/profile.hpp"
#include "hpo/pruner/concept.hpp"
#include "hpo/space/known_distributions.hpp"
#include "hpo/store/configurations.hpp"
#include "hpo/store/retries.hpp"
#include "hpo/store/sqlite/run_liveness.hpp"
#include "hpo/store/store.hpp"
#include "hpo/tuner/finished_trial.hpp"
#include "hpo/tuner/options.hpp"
#include "hpo/tuner/prediction_miss.hpp"
#include "hpo/tuner/study_event.hpp"

namespace hpo::tuner {

/// A study's trials in memory and in its store. Every change goes through this class, so both stay equal. A trial's number is its index.
/// The details of finished trials lie in the store alone (tuner/finished_trial.hpp).
class Bookkeeping {
public:
    Bookkeeping(Store& store, const std::string& name, const TuneOptions& options, TuneObserver& observer);
    Bookkeeping(const Bookkeeping&) = delete;
    Bookkeeping& operator=(const Bookkeeping&) = delete;
    ~Bookkeeping();

    [[nodiscard]] const Store& store() const noexcept { return store_; }
    [[nodiscard]] Store& store() noexcept { return store_; }
    [[nodiscard]] const Study& study() const noexcept { return study_; }
    [[nodiscard]] Trial& trial(std::int64_t number) { return trials_.at(static_cast<std::size_t>(number)); }
    [[nodiscard]] History history() const { return {study_.name, study_.directions, trials_, rejections_, other_studies_, same_program_}; }
    /// What samplers learn from: the history with one trial for each configuration (Configurations).
    [[nodiscard]] History searched() {
        History seen = history();
        seen.trials = configurations_.of(trials_);
        return seen;
    }
    /// Moves the trials out: the last call.
    [[nodiscard]] TuneResult take_result(bool interrupted, std::optional<BreakerTrip> broken, bool all_tried,
                                         std::optional<std::string> exhausted = {}) {
        return {std::move(study_), std::move(trials_), interrupted, std::move(broken), std::move(exhausted), all_tried};
    }

    /// Reads the attempts of other studies on devices of these names, for History::other_studies.
    void read_other_studies(const std::vector<std::string>& device_names) {
        other_studies_.clear();
        for (const std::string& name : device_names) {
            std::vector<Attempt> read = attempts_of_other_studies(store_, study_.id, name);
            other_studies_.insert(other_studies_.end(), std::make_move_iterator(read.begin()), std::make_move_iterator(read.end()));
        }
    }
    /// The latest of these attempts, oldest first. Empty if the device has no name.
    [[nodiscard]] static std::vector<Attempt> attempts_of_other_studies(Store& store, std::int64_t study_id,
                                                                        const std::string& device_name) {
        return device_name.empty() ? std::vector<Attempt>{}
                                   : store.attempts_of_other_studies(study_id, device_name, History::most_from_other_studies);
    }

    /// How many trials count towards the asked number.
    [[nodiscard]] std::int64_t done() const noexcept { return done_; }

    /// How many trials are wanted in all, and how many of them run in this process.
    struct Wanted {
        std::int64_t trials = 0;
        std::int64_t own_running = 0;
    };
    /// Begins an enqueued or a new trial. Returns nullopt when the wanted number is done or running, other processes' trials included.
    /// After such an answer it does not ask the store again for a short time.
    [[nodiscard]] std::optional<std::int64_t> begin_trial(const Wanted& wanted);
    /// False if it is known without asking the store that no trial can be begun.
    [[nodiscard]] bool may_begin(const Wanted& wanted) const {
        const bool enough = own_trials_ ? own_done_ + wanted.own_running >= *own_trials_ : done_ + wanted.own_running >= wanted.trials;
        if (enough) return false;
        return !since_refusal_ || since_refusal_->seconds() >= refusal_holds_seconds;
    }
    /// Begins a trial in place of a lost one. It goes on after step `last_kept`, or runs from the beginning if that is nullopt. Returns
    /// nullopt when the wanted number is done or running, or when another process was first.
    [[nodiscard]] std::optional<std::int64_t> begin_retry(const Wanted& wanted, const Trial& lost, std::optional<std::int64_t> last_kept);
    /// Looks for trials of processes that are gone. Returns the lost trials that another trial can run again or go on with.
    [[nodiscard]] std::vector<std::int64_t> left_behind();
    /// Ends the trials of processes that are gone, so that none stays RUNNING for ever.
    void settle_lost();
    /// Looks for what other processes did.
    void read_others();
    /// Adds a waiting trial with these values. Returns its number.
    std::int64_t enqueue(const std::vector<std::pair<std::string, Value>>& fixed);
    /// The parameters that the study has had so far.
    [[nodiscard]] const KnownDistributions& distributions() const noexcept { return distributions_; }
    /// Throws bad_value if a parameter's distribution does not agree with that of the study.
    void set_params(std::int64_t number, ParamSet params);
    void begin_attempt(std::int64_t number, Attempt attempt);
    /// Keeps what the latest attempt wrote, unless it is empty.
    void keep_log(std::int64_t number, const std::string& text) {
        const Trial& current = trial(number);
        if (!text.empty()) store_.keep_log(current, current.attempts.back().index, text);
    }
    void end_attempt(std::int64_t number);
    /// Tells the observer that the guard now asks for the evidence `now` and no longer for `before`. Its predictions for this model family
    /// were wrong.
    void asks_less(Evidence before, Evidence now, const std::string& family);
    /// Tells the observer something about a trial's retry, once for each text.
    void note_once(std::int64_t number, const std::string& what);
    /// Call it before a retry. It moves the trial's reports after `last_kept` to the attempt that told them.
    void restart_reports(std::int64_t number, std::optional<std::int64_t> last_kept);
    void report(std::int64_t number, const Report& report);
    /// Keeps a report, then asks the pruner. A trial is never pruned in a study with several objectives, nor at its last report: its
    /// training is then already paid for. One that repeats a configuration is not pruned either, because its mean would look better without
    /// it.
    template <Pruner P>
    [[nodiscard]] Verdict report_and_judge(std::int64_t number, const Report& told, P& pruner) {
        report(number, told);
        if (study_.directions.size() != 1 || told.is_last || repeated_trial(trial(number))) return {};
        const History seen = history();
        return pruner.judge(PruneQuery{trial(number), told.step, study_.directions[0], seen});
    }
    /// The run's fixed values and the trial's enqueued ones, in this order.
    [[nodiscard]] std::vector<std::pair<std::string, Value>> prescribed_values(std::int64_t number, const TuneOptions& options);
    /// The values that the trial must have: the prescribed ones, then the parameters of the lost trial that it runs again.
    [[nodiscard]] std::vector<std::pair<std::string, Value>> fixed_values(std::int64_t number, const TuneOptions& options);
    void memory_mark(std::int64_t number, MemoryMark mark);
    void finish(std::int64_t number);
    /// True if this process has begun the trial, and the store does not have its end.
    [[nodiscard]] bool is_open(std::int64_t number) const { return std::find(own_.begin(), own_.end(), number) != own_.end(); }
    void reject(Rejection rejection);
    /// Says that this process is alive, and ends the trials of processes that are gone. Does so at most every few seconds.
    void heartbeat();

    /// Records a checkpoint of the latest attempt, from which another process can go on too.
    void checkpointed(std::int64_t number, std::int64_t step);

private:
    static constexpr double heartbeat_interval_seconds = 5;
    static constexpr double refusal_holds_seconds = 0.2;

    [[nodiscard]] std::optional<std::int64_t> run_id() const { return run_ ? std::optional{run_->id} : std::nullopt; }
    [[nodiscard]] Quota quota(const Wanted& wanted) const;
    std::optional<std::int64_t> take_in(std::optional<Trial> begun);
    void recount();
    [[nodiscard]] bool is_to_repeat(const Trial& trial) const;
    void enqueue_repeats(const Trial& first, std::int64_t count);
    void enqueue_missing_repeats();

    Store& store_;
    TuneObserver& observer_;
    Study study_;
    std::vector<Trial> trials_;
    std::vector<Rejection> rejections_;
    std::vector<Attempt> other_studies_;
    std::vector<Trial> same_program_;
    std::function<std::map<std::string, double, std::less<>>(const Trial&)> constraints_after_end_;
    KnownDistributions distributions_;
    std::vector<std::int64_t> own_;          ///< trials begun in this process and not finished
    std::vector<std::int64_t> left_behind_;  ///< trials_left_behind, as of the latest reading
    bool others_run_ = false;                ///< true if other processes run trials, as of the latest reading
    std::int64_t done_ = 0;
    std::optional<std::int64_t> own_trials_;  ///< TuneOptions::own_trials
    std::int64_t own_done_ = 0;               ///< trials that this run has finished and that count
    std::int64_t seeds_ = 1;                  ///< TuneOptions::seeds
    Configurations configurations_;
    bool told_misprediction_ = false;
    std::vector<std::string> noted_;     ///< texts that the observer was told of by note_once
    std::vector<std::string> given_up_;  ///< pairs of source and family that the observer was told of
    std::optional<Run> run_;
    Stopwatch since_heartbeat_;
    std::optional<Stopwatch> since_refusal_;  ///< runs since the store last had no trial to begin
};

/// Throws bad_value, before the study is made, for options that cannot be meant.
[[nodiscard]] inline const TuneOptions& checked(const TuneOptions& options) {
    const auto require = [](const char* name, std::int64_t value, std::int64_t least) {
        if (value < least) throw bad_value(std::string{"TuneOptions::"} + name, std::to_string(value), "at least " + std::to_string(least));
    };
    require("trials", options.trials, 0);
    require("own_trials", options.own_trials.value_or(0), 0);
    require("seeds", options.seeds, 1);
    require("max_attempts", options.max_attempts, 1);
    if (!(options.target_share > 0 && options.target_share <= 1))
        throw bad_value("TuneOptions::target_share", display_text(options.target_share), "above 0 and at most 1");
    for (auto given = options.fixed.begin(); given != options.fixed.end(); ++given) {
        const auto earlier = std::find_if(options.fixed.begin(), given, [&](const auto& each) { return each.first == given->first; });
        if (earlier != given)
            throw bad_value("TuneOptions::fixed: '" + given->first + "'",
                            display_text(earlier->second) + " and " + display_text(given->second), "one value");
    }
    return options;
}

inline Bookkeeping::Bookkeeping(Store& store, const std::string& name, const TuneOptions& options, TuneObserver& observer)
    : store_{store},
      observer_{observer},
      study_{store.open_study(name, checked(options).directions, options.open)},
      same_program_{options.same_program},
      constraints_after_end_{options.constraints_after_end},
      own_trials_{options.own_trials},
      seeds_{options.seeds} {
    if (options.run) {
        store_.settle_lost_trials(study_.id, store::heartbeat_grace_seconds);
        run_ = store_.begin_run(study_.id, *options.run);
    }
    store_.refresh(study_.id, trials_);
    recount();
    if (!others_run_) enqueue_missing_repeats();
    for (const Trial& trial : trials_) {
        try {
            distributions_.admit(trial.params);
        } catch (const Error&) {  // another program mixed distributions; new trials are compared with the latest
        }
    }
    rejections_ = store_.rejections(study_.id);
    observer_.on(event::StudyOpened{study_, trials_});
}

inline Bookkeeping::~Bookkeeping() {
    try {
        if (run_) store_.end_run(*run_);
    } catch (const Error&) {  // all its trials are finished; the run counts as gone once its process is
    }
}

inline std::optional<std::int64_t> Bookkeeping::begin_trial(const Wanted& wanted) {
    if (!may_begin(wanted)) return std::nullopt;
    auto begun = store_.begin_trial_within(study_.id, run_id(), quota(wanted));
    if (!begun) since_refusal_.emplace();
    return take_in(std::move(begun));
}

inline std::optional<std::int64_t> Bookkeeping::begin_retry(const Wanted& wanted, const Trial& lost,
                                                            std::optional<std::int64_t> last_kept) {
    if (!may_begin(wanted)) return std::nullopt;
    auto begun = store_.begin_retry_within(study_.id, run_id(), quota(wanted), lost, last_kept);
    if (begun) std::erase(left_behind_, lost.number);
    else since_refusal_.emplace();
    return take_in(std::move(begun));
}

inline std::vector<std::int64_t> Bookkeeping::left_behind() {
    read_others();
    if (others_run_) settle_lost();  // the processes that run them may be gone
    return left_behind_;
}

inline void Bookkeeping::settle_lost() {
    if (run_ && store_.settle_lost_trials(study_.id, store::heartbeat_grace_seconds) > 0) read_others();
}

inline std::int64_t Bookkeeping::enqueue(const std::vector<std::pair<std::string, Value>>& fixed) {
    const std::int64_t number = store_.enqueue(study_.id, fixed).number;
    read_others();
    return number;
}

inline void Bookkeeping::set_params(std::int64_t number, ParamSet params) {
    distributions_.share(params);
    distributions_.admit(params);
    trial(number).params = std::move(params);
    store_.set_params(trial(number));
}

inline void Bookkeeping::begin_attempt(std::int64_t number, Attempt attempt) {
    Trial& current = trial(number);
    attempt.index = static_cast<int>(current.attempts.size());
    attempt.started = now();
    current.attempts.push_back(std::move(attempt));
    store_.begin_attempt(current, current.attempts.back());
    observer_.on(event::AttemptBegan{current, current.attempts.back()});
}

inline void Bookkeeping::end_attempt(std::int64_t number) {
    Trial& current = trial(number);
    store_.end_attempt(current, current.attempts.back());
    observer_.on(event::AttemptEnded{current, current.attempts.back()});
    if (told_misprediction_) return;
    if (const auto how = prediction_miss(current.attempts.back())) {
        told_misprediction_ = true;
        observer_.on(event::Mispredicted{current, *how});
    }
}

inline void Bookkeeping::asks_less(Evidence before, Evidence now, const std::string& family) {
    const auto tell = [&](const std::string& source) {
        const std::string what = source + " " + family;
        if (std::find(given_up_.begin(), given_up_.end(), what) != given_up_.end()) return;
        given_up_.push_back(what);
        observer_.on(event::SourceGivenUp{source, family});
    };
    if (before == Evidence::virtual_card) tell("virtual_card");
    if ((before == Evidence::virtual_card || before == Evidence::dry_run) && now != Evidence::dry_run) tell("dry_run");
    if (now == Evidence::shape) tell("probe");
}

inline void Bookkeeping::note_once(std::int64_t number, const std::string& what) {
    if (what.empty() || std::find(noted_.begin(), noted_.end(), what) != noted_.end()) return;
    noted_.push_back(what);
    observer_.on(event::RetryNoted{trial(number), what});
}

inline void Bookkeeping::restart_reports(std::int64_t number, std::optional<std::int64_t> last_kept) {
    Trial& current = trial(number);
    current.attempts.back().reports = take_superseded(current.intermediate, last_kept);
    store_.restart_reports(current, current.attempts.back(), last_kept);
}

inline void Bookkeeping::report(std::int64_t number, const Report& report) {
    Trial& current = trial(number);
    current.intermediate[report.step] = report.value;
    store_.report(current, report);
    observer_.on(event::Reported{current, report});
}

inline std::vector<std::pair<std::string, Value>> Bookkeeping::prescribed_values(std::int64_t number, const TuneOptions& options) {
    auto fixed = options.fixed;
    const Trial& current = trial(number);
    fixed.insert(fixed.end(), current.fixed.begin(), current.fixed.end());
    return fixed;
}

inline std::vector<std::pair<std::string, Value>> Bookkeeping::fixed_values(std::int64_t number, const TuneOptions& options) {
    auto fixed = prescribed_values(number, options);
    for (const Param& param : trial(number).params) fixed.emplace_back(param.name, param.value());
    return fixed;
}

inline void Bookkeeping::memory_mark(std::int64_t number, MemoryMark mark) {
    mark.reading = without_nonsense(std::move(mark.reading));
    if (mark.name == "end") mark.reading.neighbours.clear();  // they matter to failures, and not afterwards
    Trial& current = trial(number);
    Attempt& attempt = current.attempts.back();
    attempt.memory.push_back(mark);
    store_.memory_mark(current, attempt.index, mark);
    observer_.on(event::MemoryMarked{current, mark});
}

inline void Bookkeeping::finish(std::int64_t number) {
    Trial& current = trial(number);
    current.completed = now();
    const bool may_repeat = is_to_repeat(current);
    if (may_repeat) current.system_attributes[seeds_attribute] = seeds_;
    store_.finish(current);
    std::erase(own_, number);
    const int counted = counts_as_done(current) ? 1 : 0;
    done_ += counted;
    own_done_ += counted;
    if (constraints_after_end_) {
        for (const auto& [name, value] : constraints_after_end_(current)) current.constraints[name] = value;
    }
    observer_.on(event::TrialFinished{current});
    drop_details(current);
    if (may_repeat && seeds_of(current) > 1) enqueue_repeats(current, seeds_ - 1);
}

inline bool Bookkeeping::is_to_repeat(const Trial& trial) const {
    return seeds_ > 1 && trial.state == TrialState::complete && trial.feasible() && !trial.params.empty() && !repeated_trial(trial);
}

/// Adds trials with the parameters of one that is complete. `first` may be a trial of trials_, which then moves.
inline void Bookkeeping::enqueue_repeats(const Trial& first, std::int64_t count) {
    std::vector<std::pair<std::string, Value>> values;
    for (const Param& param : first.params) values.emplace_back(param.name, param.value());
    Attributes attributes;
    attributes[repeats_attribute] = first.number;
    for (; count > 0; --count) (void)store_.enqueue(study_.id, values, attributes);
    read_others();
}

/// Adds what a process that was killed at the end of a trial could not add any more.
inline void Bookkeeping::enqueue_missing_repeats() {
    std::map<std::int64_t, std::set<std::int64_t>> repeats;  // of each first trial; lost ones are one with those that replace them
    for (const Trial& trial : trials_) {
        if (const auto first = repeated_trial(trial)) repeats[*first].insert(first_of_line(trial));
    }
    for (std::size_t i = 0; i < trials_.size(); ++i) {
        const std::int64_t wanted = seeds_of(trials_[i]) - 1;
        if (wanted == 0) continue;
        const std::int64_t missing = wanted - static_cast<std::int64_t>(repeats[trials_[i].number].size());
        if (missing > 0) enqueue_repeats(trials_[i], missing);
    }
}

inline void Bookkeeping::reject(Rejection rejection) {
    rejection.at = now();
    store_.reject(study_.id, rejection);
    rejections_.push_back(std::move(rejection));
    observer_.on(event::ConfigurationRejected{rejections_.back()});
}

inline void Bookkeeping::heartbeat() {
    if (!run_ || since_heartbeat_.seconds() < heartbeat_interval_seconds) return;
    since_heartbeat_ = {};
    store_.heartbeat(*run_);
    settle_lost();
}

inline void Bookkeeping::checkpointed(std::int64_t number, std::int64_t step) {
    Trial& current = trial(number);
    current.attempts.back().checkpoint_step = step;
    store_.begin_attempt(current, current.attempts.back());
}

inline Quota Bookkeeping::quota(const Wanted& wanted) const {
    return {.trials = own_trials_ ? endless_trials : wanted.trials,
            .own_running = wanted.own_running,
            .grace_seconds = store::heartbeat_grace_seconds};
}

inline std::optional<std::int64_t> Bookkeeping::take_in(std::optional<Trial> begun) {
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

inline void Bookkeeping::read_others() {
    if (!store_.refresh(study_.id, trials_)) return;
    recount();
    observer_.on(event::OthersChanged{trials_});
}

inline void Bookkeeping::recount() {
    for (Trial& trial : trials_) {
        if (is_finished(trial.state)) drop_details(trial);
    }
    done_ = std::count_if(trials_.begin(), trials_.end(), counts_as_done);
    left_behind_ = trials_left_behind(trials_);
    others_run_ = std::any_of(trials_.begin(), trials_.end(),
                              [this](const Trial& each) { return each.state == TrialState::running && !is_open(each.number); });
}

}  // namespace hpo::tuner
