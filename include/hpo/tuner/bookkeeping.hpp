// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "hpo/core/history.hpp"
#include "hpo/core/profile.hpp"
#include "hpo/pruner/concept.hpp"
#include "hpo/space/known_distributions.hpp"
#include "hpo/store/store.hpp"
#include "hpo/tuner/options.hpp"

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
    /// Moves the trials out: the last call.
    [[nodiscard]] TuneResult take_result(bool interrupted, std::optional<BreakerTrip> broken, std::optional<std::string> exhausted = {}) {
        return {std::move(study_), std::move(trials_), interrupted, std::move(broken), std::move(exhausted)};
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
    /// training is then already paid for.
    template <Pruner P>
    [[nodiscard]] Verdict report_and_judge(std::int64_t number, const Report& told, const P& pruner) {
        report(number, told);
        if (study_.directions.size() != 1 || told.is_last) return {};
        const History seen = history();
        return pruner.judge(Standing{trial(number), told.step, study_.directions[0], seen});
    }
    /// The run's fixed values and the trial's enqueued ones, in this order.
    [[nodiscard]] std::vector<std::pair<std::string, Value>> prescribed_values(std::int64_t number, const TuneOptions& options);
    /// The values that the trial must have: the prescribed ones, then the parameters of the lost trial that it runs again.
    [[nodiscard]] std::vector<std::pair<std::string, Value>> fixed_values(std::int64_t number, const TuneOptions& options);
    void memory_mark(std::int64_t number, MemoryMark mark);
    void finish(std::int64_t number);
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
    bool told_misprediction_ = false;
    std::vector<std::string> noted_;     ///< texts that the observer was told of by note_once
    std::vector<std::string> given_up_;  ///< pairs of source and family that the observer was told of
    std::optional<Run> run_;
    Stopwatch since_heartbeat_;
    std::optional<Stopwatch> since_refusal_;  ///< runs since the store last had no trial to begin
};

}  // namespace hpo::tuner

#ifndef HPO_COMPILED
#include "hpo/tuner/impl/bookkeeping_inl.hpp"
#endif
