// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
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

/// A study's trials in memory and in its store, kept equal: every change goes through here, to the store first.
/// Trials are addressed by number, which is their index.
class Bookkeeping {
public:
    Bookkeeping(Store& store, const std::string& name, const TuneOptions& options, TuneObserver& observer);
    Bookkeeping(const Bookkeeping&) = delete;
    Bookkeeping& operator=(const Bookkeeping&) = delete;
    ~Bookkeeping();

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
    [[nodiscard]] std::optional<std::int64_t> begin_trial(const Wanted& wanted);
    /// False when a trial cannot be begun, as far as is known without asking the store.
    [[nodiscard]] bool may_begin(const Wanted& wanted) const {
        if (done_ + wanted.own_running >= wanted.trials) return false;
        return !since_refusal_ || since_refusal_->seconds() >= refusal_holds_seconds;
    }
    /// A trial that goes on with a lost one after `last_kept`, or runs it again. Returns nullopt when as many trials as wanted are done or
    /// run, or when another process was first.
    [[nodiscard]] std::optional<std::int64_t> begin_retry(const Wanted& wanted, const Trial& lost, std::optional<std::int64_t> last_kept);
    /// Looks what other processes have left, and returns the lost trials that another can run again or go on with.
    [[nodiscard]] std::vector<std::int64_t> left_behind();
    /// Ends the trials of processes that are gone, so that none stands as running for ever.
    void settle_lost();
    /// Throws bad_value when a parameter's distribution does not go with the study's.
    void set_params(std::int64_t number, ParamSet params);
    void begin_attempt(std::int64_t number, Attempt attempt);
    /// What the latest attempt wrote; an empty text is not kept.
    void keep_log(std::int64_t number, const std::string& text) {
        const Trial& current = trial(number);
        if (!text.empty()) store_.keep_log(current, current.attempts.back().index, text);
    }
    void end_attempt(std::int64_t number);
    /// The guard asks for `now` of attempts of a model family, where it would ask for `before` if those had not been wrong of it.
    void asks_less(Evidence before, Evidence now, const std::string& family);
    /// Before another attempt: the trial's reports after `last_kept` become the last attempt's own.
    void restart_reports(std::int64_t number, std::optional<std::int64_t> last_kept);
    void report(std::int64_t number, const Report& report);
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
    [[nodiscard]] std::vector<std::pair<std::string, Value>> fixed_values(std::int64_t number, const TuneOptions& options);
    void memory_mark(std::int64_t number, const MemoryMark& mark);
    void finish(std::int64_t number);
    void reject(Rejection rejection);
    /// Says that this process is alive, and looks whether others are, at most every few seconds.
    void heartbeat();

    /// A checkpoint of the trial's attempt can be gone on from, also when this process is gone.
    void checkpointed(std::int64_t number, std::int64_t step);

private:
    static constexpr double heartbeat_interval_seconds = 5;
    static constexpr double refusal_holds_seconds = 0.2;

    [[nodiscard]] std::optional<std::int64_t> run_id() const { return run_ ? std::optional{run_->id} : std::nullopt; }
    [[nodiscard]] static Quota quota(const Wanted& wanted);
    std::optional<std::int64_t> take_in(std::optional<Trial> begun);
    void read_others();
    void recount();

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

#ifndef HPO_COMPILED
#include "hpo/tuner/impl/bookkeeping_inl.hpp"
#endif
